//! `--publish`: the replica says in a Lease of its own what it serves, so that the cluster can be
//! asked whether what was committed is what decides.
//!
//! No request waits for it, and no failure of it makes the server not ready: an API server that
//! does not answer is no reason to refuse Jobs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::sleep;

use super::certificate::slot::Slot;
use super::certificate::{fingerprint, pem};
use super::metrics::Metrics;
use super::metrics::reloads::Source;
use super::operations::Readiness;
use super::served::Served;
use crate::core::kubernetes::api::VERSIONS;
use crate::edges::cluster::replica::{ANNOTATION, LABEL, LABEL_VALUE, Report, name};
use crate::edges::cluster::{ClusterArgs, micro_time};

/// Who wrote it, in `managedFields`.
const MANAGER: &str = "jobshape-replica";

/// How often the Lease is renewed while nothing changes.
const RENEW: Duration = Duration::from_secs(60);

/// After so long without renewal nobody can say what the replica serves.
const LEASE: Duration = Duration::from_secs(3 * RENEW.as_secs());

/// The longest pause between two failures.
const LONGEST: Duration = Duration::from_secs(60);

/// The Pod that this replica is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its uid: a Pod of the same name may come after it.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
}

/// What a replica knows of itself.
pub struct Publisher {
    /// Which Pod it is.
    pub pod: Pod,
    /// Its shapes.
    pub served: Arc<Served>,
    /// Its certificate.
    pub certificate: Arc<Slot>,
    /// Whether requests should come.
    pub readiness: Arc<Readiness>,
    /// Generation and failing reloads; and where this is counted.
    pub metrics: Arc<Metrics>,
}

impl Publisher {
    /// Publishes for ever, and looks every so often whether there is something to say.
    pub async fn publish(self, every: Duration) -> Infallible {
        let mut written: Option<(Report, Instant)> = None;
        let mut complaint: Option<String> = None;
        let mut pause = every;
        let mut client = None;
        loop {
            let report = self.report();
            let is_due = written
                .as_ref()
                .is_none_or(|(before, at)| *before != report || at.elapsed() >= RENEW);
            if !is_due {
                sleep(every).await;
                continue;
            }
            match self.write(&mut client, &report).await {
                Ok(()) => {
                    self.metrics.publishing.succeeded(seconds(SystemTime::now()));
                    if complaint.take().is_some() {
                        tracing::info!("the cluster knows again what this replica serves");
                    }
                    written = Some((report, Instant::now()));
                    pause = every;
                    sleep(every).await;
                }
                Err(why) => {
                    self.metrics.publishing.failed();
                    if complaint.as_ref() != Some(&why) {
                        tracing::warn!(
                            why,
                            "the cluster cannot be told what this replica serves; requests are not affected"
                        );
                        complaint = Some(why);
                    }
                    // Replicas that fail together must not try again together.
                    sleep(pause.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
                    pause = (pause * 2).min(LONGEST);
                }
            }
        }
    }

    async fn write(&self, client: &mut Option<Client>, report: &Report) -> Result<(), String> {
        let asked = match client {
            Some(client) => client,
            None => {
                let made = ClusterArgs::default().client().await;
                client.insert(made.map_err(|error| error.to_string())?)
            }
        };
        let leases: Api<Lease> = Api::namespaced(asked.clone(), &self.pod.namespace);
        let lease = lease(&self.pod, report, SystemTime::now());
        let parameters = PatchParams::apply(MANAGER).force();
        let written = leases.patch(&name(&self.pod.name), &parameters, &Patch::Apply(&lease)).await;
        written.map(|_| ()).map_err(|error| match error {
            kube::Error::Api(status) => status.message,
            error => error.to_string(),
        })
    }

    fn report(&self) -> Report {
        let shapes = self.served.get();
        let reasons = self.readiness.reasons(SystemTime::now());
        let pair = self.certificate.pair();
        let reloads = &self.metrics.reloads;
        let ends = pair.as_ref().and_then(|pair| {
            OffsetDateTime::from_unix_timestamp(pair.not_after()).ok()?.format(&Rfc3339).ok()
        });
        Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            releases: VERSIONS.map(str::to_owned).to_vec(),
            shapes: shapes.all().iter().map(|s| (s.name.clone(), s.digest.clone())).collect(),
            generation: u64::try_from(reloads.generation.get()).unwrap_or_default(),
            reload_failing: reloads.is_failing(Source::Shapes),
            certificate: pair.as_ref().and_then(|p| p.chain().first().map(|der| fingerprint(der))),
            certificate_chain: pair.map(|pair| pair.chain().iter().map(|der| pem(der)).collect()),
            certificate_ends: ends,
            not_ready: Some(reasons.join("; ")).filter(|reasons| !reasons.is_empty()),
        }
    }
}

fn lease(pod: &Pod, report: &Report, now: SystemTime) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name(&pod.name),
            "namespace": pod.namespace,
            "labels": {LABEL: LABEL_VALUE},
            "annotations": {ANNOTATION: json!(report).to_string()},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid,
            }],
        },
        "spec": {
            "holderIdentity": pod.name,
            "leaseDurationSeconds": LEASE.as_secs(),
            "renewTime": micro_time(now),
        },
    })
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::judge::Shapes;
    use crate::core::testing;
    use crate::edges::serve::dev;

    fn publisher() -> Publisher {
        let certificate = Arc::new(Slot::empty());
        let shapes = Shapes::new(vec![testing::shape(&testing::job(), "")]).unwrap();
        Publisher {
            pod: Pod { name: "p".to_owned(), uid: "u".to_owned(), namespace: "n".to_owned() },
            served: Arc::new(Served::new(Arc::new(shapes))),
            readiness: Arc::new(Readiness::new(Arc::clone(&certificate))),
            certificate,
            metrics: Arc::new(Metrics::new().unwrap()),
        }
    }

    #[test]
    fn a_report_says_what_is_served_and_why_it_is_not_ready() {
        let publisher = publisher();
        let report = publisher.report();
        let shapes = publisher.served.get();
        let shape = &shapes.all()[0];
        assert_eq!(report.shapes[&shape.name], shape.digest);
        assert_eq!(report.releases, VERSIONS);
        assert!(report.not_ready.unwrap().contains("no certificate yet"));
        assert_eq!((report.certificate, report.certificate_ends), (None, None));
        assert!(!report.reload_failing);

        publisher.metrics.reloads.failed(Source::Shapes);
        let pair = dev::throwaway(dev::LOOPBACK).ok().unwrap().pair;
        let der = pair.chain()[0].clone();
        publisher.certificate.put(pair);
        publisher.readiness.set_self_test(Ok(()));
        let report = publisher.report();
        assert_eq!(report.certificate.unwrap(), fingerprint(&der));
        assert!(report.certificate_ends.unwrap().ends_with('Z'));
        assert!(report.reload_failing);
        assert_eq!(report.not_ready, None);
        let chain = report.certificate_chain.unwrap();
        let (_, read) = x509_parser::pem::parse_x509_pem(chain.as_bytes()).unwrap();
        assert_eq!(read.contents, der.as_ref());
    }

    #[test]
    fn the_lease_goes_with_its_pod() {
        let publisher = publisher();
        let now = UNIX_EPOCH + Duration::from_micros(1_800_000_000_000_007);
        let lease = lease(&publisher.pod, &Report::default(), now);
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(lease["metadata"]["name"], "jobshape-replica-p");
        assert_eq!(lease["spec"]["renewTime"], "2027-01-15T08:00:00.000007Z");
        let report = lease["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Report>(report).unwrap(), Report::default());
    }
}
