//! What the process costs, under the names that every Prometheus client uses.

use prometheus::{Counter, IntGauge, Registry};

use super::put;

/// The metrics of the process; all 0 where there is no `/proc`.
pub(super) struct Process {
    cpu_seconds: Counter,
    resident_bytes: IntGauge,
    open_files: IntGauge,
    most_files: IntGauge,
    started: IntGauge,
}

/// What the system says about the process.
struct Seen {
    cpu_seconds: f64,
    resident_bytes: u64,
    open_files: u64,
    most_files: u64,
    started: u64,
}

impl Process {
    /// Registers them.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| put(registry, IntGauge::new(name, help)?);
        Ok(Self {
            cpu_seconds: put(
                registry,
                Counter::new(
                    "process_cpu_seconds_total",
                    "CPU time, user and system, in seconds.",
                )?,
            )?,
            resident_bytes: gauge("process_resident_memory_bytes", "Resident memory in bytes.")?,
            open_files: gauge("process_open_fds", "Open file descriptors.")?,
            most_files: gauge("process_max_fds", "Most file descriptors that may be open.")?,
            started: gauge("process_start_time_seconds", "The start, in seconds since 1970.")?,
        })
    }

    /// Puts in what is so now. What cannot be read stays as it was.
    pub(super) fn look(&self) {
        let Some(seen) = seen() else { return };
        let set =
            |gauge: &IntGauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        // Two scrapes at a time may both be late; a counter never goes back.
        self.cpu_seconds.inc_by((seen.cpu_seconds - self.cpu_seconds.get()).max(0.0));
        set(&self.resident_bytes, seen.resident_bytes);
        set(&self.open_files, seen.open_files);
        set(&self.most_files, seen.most_files);
        set(&self.started, seen.started);
    }
}

#[cfg(target_os = "linux")]
fn seen() -> Option<Seen> {
    use procfs::process::{LimitValue, Process};
    use procfs::{boot_time_secs, page_size, ticks_per_second};

    let process = Process::myself().ok()?;
    let stat = process.stat().ok()?;
    let ticks = ticks_per_second();
    let most_files = match process.limits().ok()?.max_open_files.soft_limit {
        LimitValue::Value(most) => most,
        LimitValue::Unlimited => u64::MAX,
    };
    Some(Seen {
        cpu_seconds: (stat.utime + stat.stime) as f64 / ticks as f64,
        resident_bytes: stat.rss.saturating_mul(page_size()),
        open_files: process.fd_count().ok()? as u64,
        most_files,
        started: boot_time_secs().ok()? + stat.starttime / ticks,
    })
}

#[cfg(not(target_os = "linux"))]
fn seen() -> Option<Seen> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn what_the_system_says_is_about_this_process() {
        let process = Process::new(&Registry::new()).unwrap();
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        process.look();
        let open = process.open_files.get();
        assert!(open >= 3 && open <= process.most_files.get(), "{open}");
        assert!(process.resident_bytes.get() > 1 << 20);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let age = now - process.started.get();
        assert!((-2..24 * 3600).contains(&age), "{age}");
        drop(file);
        let before = process.cpu_seconds.get();
        while process.cpu_seconds.get() <= before {
            process.look();
        }
    }
}
