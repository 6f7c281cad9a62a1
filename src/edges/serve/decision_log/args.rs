//! The flags of the decision log, and what they ask for.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::LogOptions;
use super::users::Users;
use crate::edges::serve::journal::JournalError;

/// The flags of the decision log.
#[derive(Debug, Clone, Args)]
#[command(about = None, long_about = None)]
pub struct LogArgs {
    /// For how long equal decisions become one line of the decision log; 0s: never
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = flush)]
    decision_log_flush: Duration,
    /// How often the decision log sums up all decisions, the clean admissions too
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = summary)]
    decision_log_summary: Duration,
    /// Write keyed hashes instead of user names into the decision log
    #[arg(long)]
    hash_users: bool,
    /// With --hash-users: the key, so that one user is one hash in every replica and after a
    /// restart; a random one otherwise
    #[arg(long, value_name = "FILE", requires = "hash_users")]
    hash_users_key: Option<PathBuf>,
}

/// A day without a line is as good as none, and no clock overflows.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

fn flush(text: &str) -> Result<Duration, String> {
    between(text, Duration::ZERO, LONGEST)
}

fn summary(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_secs(1), LONGEST)
}

/// A length of time as people write it, within bounds.
pub fn between(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time < least || time > most {
        let (least, most) = (humantime::format_duration(least), humantime::format_duration(most));
        return Err(format!("it is from {least} to {most}"));
    }
    Ok(time)
}

impl LogArgs {
    /// What they ask for. With `--dev` standard output is the configuration's, for kubectl.
    ///
    /// # Errors
    /// A key that cannot be used, or no standard output.
    pub fn options(self, dev: bool) -> Result<LogOptions, JournalError> {
        let users = match (self.hash_users, self.hash_users_key) {
            (false, _) => Users::Plain,
            (true, None) => Users::random()?,
            (true, Some(file)) => Users::keyed(file)?,
        };
        let out = if dev { whole(&io::stderr()) } else { whole(&io::stdout()) };
        Ok(LogOptions {
            out: Box::new(out.map_err(JournalError::Output)?),
            flush: self.decision_log_flush,
            summary: self.decision_log_summary,
            users,
        })
    }
}

/// The stream without the library's lock and buffer: a reader that does not read blocks nobody
/// else who writes there, and what failed to go out does not come after all, later.
///
/// # Errors
/// The system has no file descriptor to give.
pub fn whole(stream: &impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        log: LogArgs,
    }

    fn parse(line: &str) -> Result<LogArgs, String> {
        let line = Line::try_parse_from(format!("serve {line}").split_whitespace());
        line.map(|line| line.log).map_err(|error| error.to_string())
    }

    #[test]
    fn times_are_written_as_people_write_them() {
        let args = parse("--decision-log-flush 500ms --decision-log-summary 5m").unwrap();
        assert_eq!(args.decision_log_flush, Duration::from_millis(500));
        assert_eq!(args.decision_log_summary, Duration::from_secs(300));
        assert_eq!(parse("--decision-log-flush 0s").unwrap().decision_log_flush, Duration::ZERO);
        for line in ["--decision-log-summary 0s", "--decision-log-flush 1000y"] {
            let error = parse(line).unwrap_err();
            assert!(error.contains("it is from ") && error.contains(" to 1day"), "{error}");
        }
        assert!(parse("--decision-log-summary 60").unwrap_err().contains("unit"));
    }

    #[test]
    fn a_key_says_something_only_about_hashes() {
        assert!(parse("--hash-users-key k").unwrap_err().contains("--hash-users"));
        let args = parse("--hash-users --hash-users-key /nowhere/at/all").unwrap();
        let error = args.options(false).err().unwrap().to_string();
        assert!(error.starts_with("--hash-users-key /nowhere/at/all: "), "{error}");
        assert!(parse("--hash-users").unwrap().options(true).is_ok());
    }
}
