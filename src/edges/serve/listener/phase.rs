//! The three parts of a server's life.

/// What a port does with its connections now. It only ever goes forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Everything is served.
    Serving,
    /// The process is on its way out and few know it yet: everything is served, new connections
    /// too, and every answer says that its connection is closed after it.
    LameDuck,
    /// No more connections; those that have a request in flight finish it.
    Finishing,
}
