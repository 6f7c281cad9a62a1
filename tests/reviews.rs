//! Requests as a real API server sends them, and what they get.
//!
//! `tests/reviews/1.36.3` holds what kube-apiserver 1.36.3 sent for the Jobs of `rules/pm-agent`:
//! bytes as they came. `write_the_reviews` writes them anew.

use std::sync::{Mutex, PoisonError};

use jobshape::core::judge::Shapes;
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use jobshape::formats::review::{Answer, Entrance, answer};

const CREATE: &[u8] = include_bytes!("reviews/1.36.3/job-create.json");
const REFUSED: &[u8] = include_bytes!("reviews/1.36.3/job-create-refused.json");
