//! A webhook that always says yes, on the very listener of jobshape: what is left between the two is
//! what jobshape itself costs.

use clap::Parser;
use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{self, Options, ServeArgs, uid};
use jobshape::formats::review::{Answer, Entrance, Record};

/// It takes the flags of `jobshape serve`, and looks at no shapes.
#[derive(Parser)]
struct Flags {
    #[arg(long)]
    shapes: Vec<String>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// Serves until the process is ended.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let flags = Flags::parse_from(std::iter::once("always-allow".to_owned()).chain(arguments));
    let options = flags.serve.options(served(Shapes::default())).map_err(|e| e.to_string())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
    runtime.block_on(serve::run(Options { decide: allow, ..options })).map_err(|e| e.to_string())
}

fn allow(_: &Shapes, _: Entrance, body: &[u8]) -> Answer {
    let uid = uid::scan(body).unwrap_or_default();
    let body = format!(
        "{{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\
         \"response\":{{\"uid\":\"{uid}\",\"allowed\":true}}}}"
    );
    let record = Record { verdict: "allow", allowed: true, ..Record::default() };
    Answer { http: 200, body: body.into_bytes(), record }
}
