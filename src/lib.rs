//! jobshape: a cluster runs exactly the Jobs that were committed, and nothing else.
//!
//! Three floors, and imports only point down:
//!
//! * [`core`]: what a shape is, what Kubernetes means by a Job, and the judgement. It knows no
//!   files, clocks, sockets or logs.
//! * [`formats`]: bytes to and from the core's tree and findings: YAML, JSON, AdmissionReview,
//!   test files, reports.
//! * [`edges`]: the command line, the files, the webhook server.

pub mod core;
pub mod edges;
pub mod formats;
