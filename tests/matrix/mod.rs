//! The promise, measured: a change that alters what would be stored is refused, and a change that
//! alters nothing is admitted.
//!
//! A real API server is sent every small change of a Job as a dry run. Without the webhook it tells
//! which it accepts and what it would store; then the webhook is put in front of it and has to
//! tell the same, and so has the judgement of the Job as it was written. The server decides what is
//! right; nothing here knows a default.

mod bases;
mod coverage;
pub mod measure;
mod newer;
pub mod normal;
mod spellings;
pub mod table;

use jobshape::core::kubernetes::api::Api;

use crate::apiserver::{self, Cluster, ControlPlane, Identity, Options, versions};
use bases::bases;
use coverage::Coverage;
use measure::{Amount, measure, put};
use table::print;

/// How many changes of a base the ordinary run takes; another seed (`JOBSHAPE_SEED`) takes others.
const SAMPLE: Amount = Amount { single: Some(500), combined: 125 };

/// How many combinations `make matrix` takes, beside every single change.
const ALL: Amount = Amount { single: None, combined: 5000 };

/// A number from the environment.
pub fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// What `JOBSHAPE_MATRIX=1000` asks for.
fn asked(otherwise: Amount) -> Amount {
    match number("JOBSHAPE_MATRIX") {
        Some(count) => Amount { single: Some(count), combined: count / 4 },
        None => otherwise,
    }
}

/// One base against the server that all tests share.
async fn quick(name: &str) {
    let cluster = apiserver::shared().await;
    let api = server_api(cluster).await;
    let base = bases(api).into_iter().find(|base| base.name == name).expect("a base of this name");
    let measured = measure(cluster, api, &base, asked(SAMPLE), &mut Coverage::default()).await;
    print(std::slice::from_ref(&measured));
    assert!(measured.ineffective > 5 && measured.effective > 20, "worth something: {measured:?}");
    measured.check();
}

/// What the server says that there is.
pub async fn server_api(cluster: &Cluster) -> &'static Api {
    let version = cluster.version().await.unwrap();
    let minor = apiserver::minor(&version).to_owned();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let openapi = session.get("/openapi/v3/apis/batch/v1").await.unwrap().body;
    let rows = crate::tables::rows(&openapi).unwrap();
    let text: String = rows.iter().map(|row| format!("{row}\t{minor}\n")).collect();
    // There are as many as there are servers.
    Box::leak(Box::new(Api::of_server(text.leak()).unwrap()))
}

#[tokio::test]
async fn the_worker() {
    quick("worker").await;
}

#[tokio::test]
async fn the_kitchen_sink() {
    quick("sink").await;
}

#[tokio::test]
async fn an_indexed_job() {
    quick("indexed").await;
}

#[tokio::test]
async fn a_suspended_job() {
    quick("suspended").await;
}

#[tokio::test]
async fn a_job_that_says_nothing() {
    quick("bare").await;
}

#[tokio::test]
async fn a_work_queue() {
    quick("queue").await;
}

#[tokio::test]
async fn a_selector_of_its_own() {
    quick("own").await;
}

/// Whether each default and each kept zero of the table is put to each release; a part of the whole
/// that takes less time.
#[tokio::test]
#[ignore = "a part of make matrix"]
async fn every_fact_is_put_to_a_server() {
    let mut unreached = vec![];
    for version in versions() {
        let options = Options { version, controllers: false, ..Options::default() };
        let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
        let api = server_api(&cluster).await;
        let mut coverage = Coverage::default();
        for base in bases(api) {
            put(&cluster, api, &base, &mut coverage).await;
        }
        unreached.extend(coverage.unreached(api, apiserver::minor(version)));
    }
    let count = unreached.len();
    assert!(unreached.is_empty(), "{count} facts were put to no server:\n{}", unreached.join("\n"));
}

/// Everything, on every release: `make matrix`.
#[tokio::test]
#[ignore = "takes many minutes: make matrix"]
async fn the_whole_matrix() {
    let mut all = vec![];
    let (mut mistakes, mut unreached) = (vec![], vec![]);
    for version in versions() {
        let options = Options { version, controllers: false, ..Options::default() };
        let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
        crate::tables::tests::compare(&cluster).await;
        let api = server_api(&cluster).await;
        let mut coverage = Coverage::default();
        for base in bases(api) {
            let measured = measure(&cluster, api, &base, asked(ALL), &mut coverage).await;
            print(std::slice::from_ref(&measured));
            mistakes.extend(measured.mistakes());
            all.push(measured);
        }
        if number("JOBSHAPE_MATRIX").is_none() {
            unreached.extend(coverage.unreached(api, apiserver::minor(version)));
        }
    }
    assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
    if number("JOBSHAPE_MATRIX").is_none() && versions() == apiserver::VERSIONS {
        table::write(&all);
    }
    let count = unreached.len();
    assert!(unreached.is_empty(), "{count} facts were put to no server:\n{}", unreached.join("\n"));
}
