//! What the API means by a Job: fields and types, list keys, quantities, zeros that are kept,
//! defaults and server-owned values. Facts are data with their source (`data/*.tsv`); code here
//! only reads them.

pub mod absent;
pub mod api;
pub mod cron_job;
pub mod defaults;
pub mod keys;
pub mod quantity;
pub mod stored;
