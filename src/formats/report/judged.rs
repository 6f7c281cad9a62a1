//! A judged Job, with where it came from: what every format of `check` prints.

use crate::core::judge::{Verdict, VerdictKind};
use crate::core::shape::rule::Action;
use crate::formats::text::Position;

/// One Job and its verdict.
#[derive(Debug)]
pub struct JudgedJob {
    /// Index of its text among those that were read.
    pub text: usize,
    /// `file.yaml#2`: the text and the number of the object in it.
    pub source: String,
    /// `Job` or `CronJob`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name; empty when it has none yet.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Where each described finding points in the text.
    pub offsets: Vec<Option<u32>>,
    /// The same as lines and columns.
    pub positions: Vec<Option<Position>>,
}

/// How many verdicts of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Admitted.
    pub allow: usize,
    /// Refused.
    pub deny: usize,
    /// Could not be judged.
    pub error: usize,
    /// No shape governs them.
    pub ungoverned: usize,
    /// Taken away from their shape by `exempt`.
    pub exempt: usize,
}

impl Summary {
    /// Counts verdicts.
    #[must_use]
    pub fn of(jobs: &[JudgedJob]) -> Summary {
        let mut summary = Summary::default();
        for job in jobs {
            match job.verdict.kind {
                VerdictKind::Allow => summary.allow += 1,
                VerdictKind::Deny => summary.deny += 1,
                VerdictKind::Error => summary.error += 1,
                VerdictKind::Ungoverned if job.verdict.exempt => summary.exempt += 1,
                VerdictKind::Ungoverned => summary.ungoverned += 1,
            }
        }
        summary
    }

    /// The exit status: 2 wins over 1 over 0, and nothing judged is 2.
    #[must_use]
    pub fn status(&self, jobs: &[JudgedJob], fail_on: Action, allow_ungoverned: bool) -> u8 {
        let judged = self.allow + self.deny;
        if self.error > 0
            || (self.ungoverned + self.exempt > 0 && !allow_ungoverned)
            || judged + self.ungoverned + self.exempt == 0
        {
            return 2;
        }
        let fails = self.deny > 0
            || jobs
                .iter()
                .any(|job| job.verdict.findings.findings.iter().any(|f| f.action >= fail_on));
        u8::from(fails)
    }
}
