//! The bounded shares: each case beside the parse, and beside itself among 1,000 shapes.

use crate::blocks::measure;
use crate::cases::{case, committed_among, decide, parse, scan};
use crate::rows::{Row, Rows};

/// Decide as a share of the parse of the same bytes.
const BOUNDS: [(&str, f64); 4] =
    [("create", 0.5), ("update", 0.4), ("ratchet", 0.6), ("refused", 0.7)];

/// How much more 1,000 shapes may cost than one.
const AMONG_MANY: f64 = 1.1;

/// What nobody governs, as a share of passing over the same bytes.
const UNGOVERNED: f64 = 1.25;

pub fn table(blocks: usize, rows: &mut Rows) {
    let (one, many) = (committed_among(1), committed_among(1_000));
    let columns = ["bytes", "decide", "beside it", "share", "95 %", "bound", ""];
    let head = |what| [&[what][..], &columns].concat();

    rows.head(&head("decide beside `serde_json`'s `Value` parse"));
    for (name, bound) in BOUNDS {
        let case = case(name);
        case.assert(&one);
        let body = &case.body;
        let times = measure(blocks, &mut [&mut || decide(&one, body), &mut || parse(body)]);
        let row = Row { figure: "decide/parse", case: case.title, value: times.ratio(0, 1), bound };
        rows.add(&row, &[body.len().to_string(), micros(times.of(0)), micros(times.of(1))]);
    }

    rows.head(&head("decide beside an `IgnoredAny` scan"));
    let case_of_none = case("ungoverned");
    case_of_none.assert(&one);
    let body = &case_of_none.body;
    let times = measure(blocks, &mut [&mut || decide(&one, body), &mut || scan(body)]);
    let (title, value) = (case_of_none.title, times.ratio(0, 1));
    let row = Row { figure: "decide/scan", case: title, value, bound: UNGOVERNED };
    rows.add(&row, &[body.len().to_string(), micros(times.of(0)), micros(times.of(1))]);

    rows.head(&head("decide among 1,000 shapes, beside one"));
    for name in ["create", "refused"] {
        let case = case(name);
        case.assert(&many);
        let body = &case.body;
        let times = measure(blocks, &mut [&mut || decide(&many, body), &mut || decide(&one, body)]);
        let (title, value) = (case.title, times.ratio(0, 1));
        let row = Row { figure: "1,000 shapes/1 shape", case: title, value, bound: AMONG_MANY };
        rows.add(&row, &[body.len().to_string(), micros(times.of(0)), micros(times.of(1))]);
    }
}

pub fn micros(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}
