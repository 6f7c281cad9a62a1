//! Open files: a connection is one, and without a spare one nothing can be accepted, read anew or
//! logged.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the process needs beside the connections of the webhook port: those of the operations
/// port, those that are shed or just being closed, watches, and files that are read anew.
const RESERVE: u64 = 192;

/// As few connections as this make sense however few files there may be.
const LEAST: u32 = 16;

/// Raises the soft limit to the hard one, and says how many connections there may be of those
/// that are wanted.
pub fn connections(wanted: u32) -> u32 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Nothing is lost if it cannot be raised: what holds then is asked for again.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = getrlimit(Resource::Nofile).current;
    let most = within(wanted, files);
    if most < wanted {
        tracing::warn!(
            wanted,
            connections = most,
            files,
            before = current,
            "fewer connections than --max-connections: raise the limit of open files"
        );
    }
    most
}

fn within(wanted: u32, files: Option<u64>) -> u32 {
    let Some(files) = files else { return wanted };
    let most = u32::try_from(files.saturating_sub(RESERVE)).unwrap_or(u32::MAX);
    wanted.min(most.max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_bound_the_connections() {
        assert_eq!(within(1024, None), 1024);
        assert_eq!(within(1024, Some(1 << 40)), 1024);
        assert_eq!(within(1024, Some(1216)), 1024);
        assert_eq!(within(1024, Some(1024)), 832);
        assert_eq!(within(1024, Some(10)), 16);
        assert_eq!(within(5, Some(10)), 5);
    }
}
