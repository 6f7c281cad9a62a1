//! `jobshape serve`: the webhook's flags, and the shapes it serves.

use std::sync::Arc;

use clap::Args;
use tracing_subscriber::EnvFilter;

use crate::core::judge::Shapes;
use crate::core::shape::Shape;
use crate::edges::cli::{CannotRun, is_watched, stderr_style};
use crate::edges::parallel;
use crate::edges::serve::decision_log::args::whole;
use crate::edges::serve::dev::DevEntry;
use crate::edges::serve::log::Log;
use crate::edges::serve::metrics::reloads::Source;
use crate::edges::serve::metrics::reviews::{RuleInfo, ShapeInfo};
use crate::edges::serve::reload::follow::{SLOW, patiently};
use crate::edges::serve::self_test::self_test;
use crate::edges::serve::shape_files::{Attempt, Mistakes, ShapeFiles};
use crate::edges::serve::{self, Loaded, Options, ServeArgs, router};
use crate::edges::shapes::{self, LoadErrors};

/// Of so many self-tests a thread is worth its cost.
const TESTED_TOGETHER: usize = 8;

/// The flags of `jobshape serve`.
#[derive(Debug, Args)]
pub struct ServeVerb {
    /// Shapes to serve: directories or files
    #[arg(long, value_name = "DIR|FILE", required = true)]
    shapes: Vec<String>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// Runs the verb until the process is told to stop.
///
/// # Errors
/// Shapes that cannot be loaded, and everything that keeps the server from starting.
pub fn run(args: ServeVerb) -> Result<u8, CannotRun> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = whole(&std::io::stderr()).and_then(Log::start).map_err(CannotRun::because)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(log.clone());
    if is_watched() {
        lines.init();
    } else {
        lines.json().flatten_event(true).init();
    }
    let ended = live(args);
    log.close();
    ended
}

fn live(args: ServeVerb) -> Result<u8, CannotRun> {
    let runtime = tokio::runtime::Runtime::new().map_err(CannotRun::because)?;
    let mut source = files(args.shapes);
    let taken = runtime.block_on(patiently(Source::Shapes, SLOW, source.take()));
    let loaded = match taken {
        Ok(loaded) => loaded,
        // What --dev prints names the shapes' namespaces, and somebody waits for it.
        Err(mistakes) if args.serve.dev => return Err(CannotRun(mistakes.0)),
        Err(_) => served(Shapes::default()),
    };
    let options = args.serve.options(loaded).map_err(CannotRun::because)?;
    let options = Options { source: Some(source), ..options };
    let ended = runtime.block_on(serve::run(options)).map_err(CannotRun::because);
    // A file system that does not answer must not keep the process.
    runtime.shutdown_background();
    ended.map(|()| 0)
}

/// Where shapes come from, and go on coming from.
#[must_use]
pub fn files(paths: Vec<String>) -> ShapeFiles {
    let named = paths.clone();
    ShapeFiles::new(named, Arc::new(move || load(&paths)))
}

fn load(paths: &[String]) -> Attempt {
    let errors = |errors: LoadErrors| (Mistakes(errors.reports), errors.files);
    match shapes::load_followed(paths, stderr_style()) {
        Err(found) => {
            let (mistakes, files) = errors(found);
            Attempt { result: Err(mistakes), files }
        }
        Ok(loaded) => {
            let sources = loaded.iter().flat_map(|loaded| &loaded.sources);
            let files = sources.map(|source| source.name.clone()).collect();
            let together = shapes::into_together(loaded);
            let result = together.map(served).map_err(|found| errors(found).0);
            Attempt { result, files }
        }
    }
}

/// What the server has to know of the shapes.
#[must_use]
pub fn served(shapes: Shapes) -> Loaded {
    let info = shapes.all().iter().map(|shape| info(shape)).collect();
    let tested = parallel::map(shapes.all(), TESTED_TOGETHER, |shape| self_test(shape));
    let self_test = tested.into_iter().collect();
    Loaded { entries: entries(&shapes), info, self_test, shapes: Arc::new(shapes) }
}

fn info(shape: &Shape) -> ShapeInfo {
    let rules = shape.rules.iter().map(|rule| RuleInfo {
        name: rule.name.clone(),
        action: rule.action,
        audit_until: rule.audit_until.clone(),
    });
    ShapeInfo {
        name: shape.name.clone(),
        digest: shape.short_digest().to_owned(),
        namespaces: shape.namespaces.clone(),
        rules: rules.collect(),
    }
}

/// A namespace belongs to the enforce entry as soon as one rule there is Enforce.
fn entries(shapes: &Shapes) -> Vec<DevEntry> {
    let mut enforce = DevEntry { path: router::ENFORCE, namespaces: vec![], operations: vec![] };
    let mut audit = DevEntry { path: router::AUDIT, namespaces: vec![], operations: vec![] };
    let spaces =
        shapes.all().iter().flat_map(|shape| shape.namespaces.iter().map(move |n| (n, shape)));
    for (namespace, shape) in spaces {
        let enforces = shapes.of_namespace(namespace).iter().any(|shape| shape.enforces());
        let entry = if enforces { &mut enforce } else { &mut audit };
        if !entry.namespaces.contains(namespace) {
            entry.namespaces.push(namespace.clone());
        }
        for operation in &shape.operations {
            let word = operation.word().to_owned();
            if !entry.operations.contains(&word) {
                entry.operations.push(word);
            }
        }
    }
    [enforce, audit].into_iter().filter(|e| !e.namespaces.is_empty()).collect()
}
