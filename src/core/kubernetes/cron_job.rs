//! What the CronJob controller and `kubectl create job --from` write into the Jobs that they make.
//!
//! Source: `getJobFromTemplate2` and `getJobName` in `pkg/controller/cronjob/utils.go`,
//! `pkg/apis/batch/types.go` v1.36.3; `createJobFromCronJob` in
//! `staging/src/k8s.io/kubectl/pkg/cmd/create/create_job.go` there.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The annotation that holds the time which a Job was scheduled for.
pub const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The annotation of a Job that somebody made of a CronJob by hand; its value is `manual`.
pub const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";

/// The name of the Job that the controller makes of a CronJob for a time in the form of RFC 3339:
/// its minutes since 1970. Nothing for what is no time.
#[must_use]
pub fn child_name(cron_job: &str, scheduled: &str) -> Option<String> {
    let minutes = minutes(scheduled)?;
    Some(format!("{cron_job}-{minutes}"))
}

/// The name of the CronJob that a Job of this name was made of for that time.
#[must_use]
pub fn owner_of<'n>(name: &'n str, scheduled: &str) -> Option<&'n str> {
    let suffix = format!("-{}", minutes(scheduled)?);
    name.strip_suffix(suffix.as_str()).filter(|owner| !owner.is_empty())
}

fn minutes(scheduled: &str) -> Option<i64> {
    let time = OffsetDateTime::parse(scheduled, &Rfc3339).ok()?;
    Some(time.unix_timestamp() / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_named_by_the_minute_whatever_its_time_zone() {
        for time in ["2026-11-30T23:05:00Z", "2026-12-01T00:05:00+01:00", "2026-11-30T23:05:59Z"] {
            assert_eq!(child_name("nightly", time).as_deref(), Some("nightly-29934665"), "{time}");
        }
        assert_eq!(owner_of("a-b-29934665", "2026-11-30T23:05:00Z"), Some("a-b"));
        for (name, time) in [
            ("a-29934666", "2026-11-30T23:05:00Z"),
            ("-29934665", "2026-11-30T23:05:00Z"),
            ("a29934665", "2026-11-30T23:05:00Z"),
            ("a-29934665", "2026-11-30 23:05"),
            ("a-29934665", ""),
        ] {
            assert_eq!(owner_of(name, time), None, "{name} {time}");
        }
    }
}
