//! `jobshape certs rotate` as a process on a real API server: what it makes is believed, nobody's Job
//! is refused while it changes, and what others destroy comes back.

mod destroyed;
mod rights;
mod rotation;
mod script;
mod stage;
mod two;
