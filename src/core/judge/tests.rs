//! What the judgement says: one file an idea.

mod alternatives;
mod cron_jobs;
mod equal;
mod expansion;
mod findings;
mod fixes;
mod generated;
mod guards;
mod keyed;
mod labels;
mod metadata;
mod musts;
mod open;
mod order;
mod quantities;
mod raising;
mod rules;
mod secrecy;
mod siblings;
mod update;
mod update_attacks;
mod variables;
mod verdict;
