//! Faults that a webhook in front of every Job of a namespace has to survive, done to two replicas
//! of the real program behind haproxy and a real API server, with Jobs being created all along.
//!
//! `cargo test --test faults` is the quick form. `make faults` is the long one, which writes its
//! table into `docs/faults.md`. They run one after the other: each says what it did to the Jobs,
//! and two at a time would not know whose it was.

#[path = "../apiserver/mod.rs"]
mod apiserver;
mod balancer;
mod certificates;
mod ending;
mod flood;
mod hostile;
mod outage;
#[path = "../outside/mod.rs"]
mod outside;
mod pool;
mod recording;
mod row;
mod shapes;
mod stage;
mod table;
mod traffic;

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use apiserver::Failure;
use outside::Replica;
use pool::Pool;
use row::Row;
use stage::Stage;

/// What is done to the stage; true for the long form.
type Fault = for<'a> fn(&'a mut Stage, bool) -> Pin<Box<dyn Future<Output = Done> + 'a>>;
type Done = Result<Row, Failure>;

macro_rules! faults {
    ($($title:literal => $module:ident::$function:ident,)*) => {
        [$(($title, |stage, full| Box::pin($module::$function(stage, full)))),*]
    };
}

const FAULTS: [(&str, Fault); 16] = faults! {
    "kill -9 of one of two replicas" => ending::killed,
    "SIGSTOP of one of two replicas" => ending::stopped,
    "SIGTERM of one of two replicas" => ending::terminated,
    "SIGTERM during a slow request" => ending::terminated_within_a_request,
    "a new certificate" => certificates::rotated,
    "another authority, with an overlap" => certificates::another_authority,
    "a certificate that ends" => certificates::expiring,
    "the shape directory emptied" => shapes::emptied,
    "the shape directory broken" => shapes::broken,
    "the shape directory replaced twice a second" => shapes::restless,
    "clients that say nothing, little, half or garbage" => hostile::besieged,
    "no file descriptor left" => hostile::no_descriptors,
    "reviews in parallel, straight at one replica" => flood::parallel,
    "clients with bodies of 8 MiB" => flood::large,
    "disk full under --record" => recording::disk_full,
    "every replica down" => outage::all_down,
};

/// Goes on beside all others, on a replica of its own, and is looked at last.
const POOL: &str = "pooled connections that are used now and then";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after the other, in this order.
    arguments.test_threads = Some(1);
    let full = std::env::var("JOBSHAPE_FAULTS").is_ok_and(|form| form == "full");
    let run = match Runtime::new() {
        Ok(runtime) => {
            Arc::new(Run { runtime, full, theatre: Mutex::default(), rows: Mutex::default() })
        }
        Err(error) => {
            eprintln!("faults: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials: Vec<Trial> = FAULTS
        .into_iter()
        .map(|(title, fault)| {
            let run = Arc::clone(&run);
            Trial::test(title, move || run.fault(title, fault))
        })
        .collect();
    let last = Arc::clone(&run);
    trials.push(Trial::test(POOL, move || last.pool()));
    let all = trials.len();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let rows = std::mem::take(&mut *run.rows.lock().unwrap_or_else(PoisonError::into_inner));
    if !rows.is_empty() {
        println!("{}", table::markdown(&rows));
    }
    if full && rows.len() == all {
        table::write(&rows);
    }
    // The stage goes before the runtime that its processes are spoken to on.
    drop(run.theatre.lock().unwrap_or_else(PoisonError::into_inner).take());
    conclusion.exit_code()
}

/// What the trials share.
struct Run {
    runtime: Runtime,
    full: bool,
    theatre: Mutex<Option<Theatre>>,
    rows: Mutex<Vec<(&'static str, Row)>>,
}

/// The stage, and what goes on beside it.
struct Theatre {
    // Before the stage, in whose folder it works.
    pool: Option<(Pool, Replica)>,
    stage: Stage,
}

impl Theatre {
    async fn new(full: bool) -> Result<Self, Failure> {
        let mut stage = Stage::new().await?;
        let replica = stage.lone(|_| {}).await?;
        let target = stage.target(&replica)?;
        let seconds = Duration::from_secs;
        let pool = match full {
            true => Pool::start(&target, 200, seconds(100), seconds(600)),
            false => Pool::start(&target, 25, seconds(3), seconds(10)),
        };
        Ok(Self { pool: Some((pool, replica)), stage })
    }
}

impl Run {
    fn fault(&self, title: &'static str, fault: Fault) -> Result<(), Failed> {
        let row = self.on_stage(async |theatre| {
            theatre.stage.repair().await?;
            fault(&mut theatre.stage, self.full).await
        })?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push((title, row));
        Ok(())
    }

    fn pool(&self) -> Result<(), Failed> {
        let row = self.on_stage(async |theatre| {
            let Some((pool, _replica)) = theatre.pool.take() else {
                return Err(Failure::new("the pool was looked at already"));
            };
            let (requests, note) = pool.end().await?;
            let requests = usize::try_from(requests).unwrap_or(usize::MAX);
            Ok(Row { requests, wrong: 0, lost: 0, in_hand: 0, longest: None, note })
        })?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push((POOL, row));
        Ok(())
    }

    fn on_stage(&self, work: impl AsyncFnOnce(&mut Theatre) -> Done) -> Result<Row, Failed> {
        let mut theatre = self.theatre.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.runtime.block_on(async {
            if theatre.is_none() {
                *theatre = Some(Theatre::new(self.full).await?);
            }
            match theatre.as_mut() {
                Some(theatre) => work(theatre).await,
                None => Err(Failure::new("there is no stage")),
            }
        });
        done.map_err(|failure| Failed::from(failure.to_string()))
    }
}
