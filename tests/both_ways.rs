//! The same judgement offline and through a real API server: what `jobshape test` says of a case
//! is what the dispatcher gets, rule by rule and place by place.

mod actions;
pub mod asked;
mod attacks;
mod cases;
mod comparison;
mod cron_jobs;
mod governed;
mod life;
mod random;
pub mod refusal;
mod several;
mod stored;
mod updates;
pub mod webhook;
