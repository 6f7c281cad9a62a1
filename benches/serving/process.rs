//! The processes that are measured, and what they cost by themselves: memory, size, time to start.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::Effort;
use crate::apiserver::{ControlPlane, Failure};
use crate::load::{Clients, Request};
use crate::outside::authority::{Authority, Volume};
use crate::outside::reviews::{padded, review};
use crate::outside::{Replica, Settings, Target};
use crate::report::Report;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The committed shape, whose Job all of this is about.
const SHAPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent");

/// jobshape and the webhook that always says yes, on the same kind of listener.
pub struct Arms {
    /// `jobshape serve` with the shape of pm-agent.
    pub jobshape: Replica,
    /// [`crate::allow`].
    pub allow: Replica,
}

/// What all of them show.
pub struct Certificate {
    /// Who signed it.
    pub authority: Authority,
    volume: Volume,
}

impl Certificate {
    /// A new one.
    pub fn new(plane: &ControlPlane) -> Result<Self, Failure> {
        let authority = Authority::new("bench")?;
        let leaf = authority.leaf(DAY)?;
        let volume = Volume::new(plane.folder().join("certificate"))?;
        volume.publish(&[("tls.crt", &leaf.certificate), ("tls.key", &leaf.key)])?;
        Ok(Self { authority, volume })
    }

    /// How to speak directly to a server that shows it.
    pub fn target(&self, replica: &Replica) -> Result<Target, Failure> {
        Target::new(replica.webhook(), &[&self.authority.pem]).map_err(Failure::new)
    }

    fn settings(&self, shapes: &Path) -> Result<Settings, Failure> {
        Settings::new(self.volume.path(), shapes)
    }
}

impl Arms {
    /// Starts both.
    pub async fn start(plane: &ControlPlane, certificate: &Certificate) -> Result<Self, Failure> {
        let settings = certificate.settings(Path::new(SHAPES))?;
        let jobshape = started(plane, "jobshape", settings).await?;
        let mut settings = certificate.settings(Path::new(SHAPES))?;
        let this = std::env::current_exe().map_err(Failure::during("looking for this program"))?;
        settings.program = [this.display().to_string(), "always-allow".to_owned()];
        let allow = started(plane, "always-allow", settings).await?;
        Ok(Self { jobshape, allow })
    }
}

async fn started(plane: &ControlPlane, name: &str, settings: Settings) -> Result<Replica, Failure> {
    let mut replica = Replica::start(plane, name, settings)?;
    replica.wait(true).await?;
    Ok(replica)
}

/// Idle, after many reviews of 10 KB on 100 connections, and after as many again.
pub async fn memory(
    plane: &ControlPlane,
    certificate: &Certificate,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Failure> {
    let settings = certificate.settings(Path::new(SHAPES))?;
    let replica = started(plane, "memory", settings).await?;
    let idle = replica.memory("VmRSS")?;
    let target = certificate.target(&replica)?;
    let job = padded(crate::direct::job()?, 10_000 - 6_500);
    let request = Request {
        target: target.clone(),
        path: "/validate/enforce?timeout=10s".to_owned(),
        body: review("pm-agent", "bench", &job),
        good: |reply| reply.status == 200,
    };
    let bytes = request.body.len();
    let mut clients = Clients::new(&target, 100, true);
    let mut after = Vec::new();
    for _ in 0..2 {
        clients.burst(&request, effort.reviews / 100).await?;
        after.push(replica.memory("VmRSS")?);
    }
    let n = effort.reviews;
    report.heading("Memory", &["of one process", "MiB", "bound"]);
    report.plain(&["idle, one shape".to_owned(), format!("{idle:.1}"), bound(idle, 16.0)]);
    report.plain(&[
        format!("after {n} reviews of {bytes} bytes on 100 connections"),
        format!("{:.1}", after[0]),
        bound(after[0], 32.0),
    ]);
    report.plain(&[
        format!("after {n} more"),
        format!("{:.1}", after[1]),
        format!("no growth: {:+.1}", after[1] - after[0]),
    ]);
    Ok(())
}

/// From starting the process to the first `ready`, with many shapes.
pub async fn start_to_ready(
    plane: &ControlPlane,
    certificate: &Certificate,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Failure> {
    let read = |name: &str| {
        let path = Path::new(SHAPES).join(name);
        std::fs::read_to_string(path).map_err(Failure::during(format!("reading {name}")))
    };
    let (shape, template) = (read("shape.yaml")?, read("worker-job-template.yaml")?);
    let folder = plane.folder().join("many-shapes");
    std::fs::create_dir_all(&folder).map_err(Failure::during("making a folder"))?;
    for n in 0..effort.shapes {
        let file = format!("template-{n}.yaml");
        let shape = shape
            .replace("namespaces: [pm-agent]", &format!("namespaces: [n{n}]"))
            .replace("name: pm-agent-worker\n", &format!("name: shape-{n}\n"))
            .replace("worker-job-template.yaml", &file);
        let template = template.replace("namespace: pm-agent\n", &format!("namespace: n{n}\n"));
        for (name, text) in [(format!("shape-{n}.yaml"), shape), (file, template)] {
            std::fs::write(folder.join(&name), text).map_err(Failure::during(name))?;
        }
    }
    let mut times = Vec::new();
    for n in 0..effort.blocks.min(10) {
        let settings = certificate.settings(&folder)?;
        let began = Instant::now();
        let mut replica = Replica::start(plane, &format!("many-{n}"), settings)?;
        replica.wait(true).await?;
        times.push(began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    report.heading("Start", &["", "median", "bound"]);
    report.plain(&[
        format!("start to ready with {} shapes", effort.shapes),
        format!("{median:.2} s"),
        bound(median, 0.5),
    ]);
    Ok(())
}

/// The size of the program.
pub fn size(report: &mut Report) -> Result<(), Failure> {
    let path = env!("CARGO_BIN_EXE_jobshape");
    let bytes = std::fs::metadata(path).map_err(Failure::during("looking at the program"))?.len();
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    report.plain(&["size of the program".to_owned(), format!("{mebibytes:.1} MiB"), String::new()]);
    Ok(())
}

/// A bound, and whether it is met.
pub fn bound(value: f64, bound: f64) -> String {
    let met = if value <= bound { "met" } else { "not met" };
    format!("{bound}, {met}")
}

/// Seconds of the processor that a process has used.
pub fn cpu(replica: &Replica) -> Result<f64, Failure> {
    let path = format!("/proc/{}/stat", replica.pid()?);
    let text = std::fs::read_to_string(&path).map_err(Failure::during(&path))?;
    // After the name in parentheses: state is the first field, user and system time the 12th and 13th.
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / TICKS)
}

/// Linux counts in hundredths of a second for programs, whatever its own clock is.
const TICKS: f64 = 100.0;
