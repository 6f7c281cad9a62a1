//! Which program this is.

use prometheus::{IntGaugeVec, Opts, Registry};

use super::put;

/// The commit it was built from, if whoever built it said so: there may be no repository where it
/// is built, and a build that asks for one is not the same twice.
const REVISION: Option<&str> = option_env!("JOBSHAPE_REVISION");

/// Registers `jobshape_build_info`.
pub(super) fn register(registry: &Registry) -> Result<(), prometheus::Error> {
    let info = put(
        registry,
        IntGaugeVec::new(
            Opts::new("jobshape_build_info", "1, with what the program was built from."),
            &["version", "revision", "rustc"],
        )?,
    )?;
    let revision = REVISION.filter(|revision| !revision.is_empty()).unwrap_or("unknown");
    let rustc = rustc_version_runtime::version().to_string();
    info.with_label_values(&[env!("CARGO_PKG_VERSION"), revision, rustc.as_str()]).set(1);
    Ok(())
}
