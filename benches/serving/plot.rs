//! The ratios as a picture: a dot, its interval, and a mark where the bound is.

use std::fmt::Write as _;

use serde_json::Value;

const LEFT: f64 = 430.0;
const WIDTH: f64 = 460.0;
const ROW: f64 = 22.0;

/// The most that is drawn; what lies beyond is drawn at the edge, with its number.
const MOST: f64 = 1.6;

/// Of rows as `decide --json` writes them.
pub fn svg(points: &[Value]) -> String {
    let mut body = String::new();
    let mut y = 30.0;
    let mut figure = String::new();
    for point in points {
        let Some(share) = point["share"].as_f64() else { continue };
        let text = |key: &str| point[key].as_str().unwrap_or_default().to_owned();
        if text("figure") != figure {
            figure = text("figure");
            y += ROW * 0.6;
            // Writing into a String cannot fail.
            let _ = writeln!(
                body,
                r#"<text class="figure" x="10" y="{y}">{}</text>"#,
                escaped(&figure)
            );
            y += ROW;
        }
        row(&mut body, y, &text("case"), share, point);
        y += ROW;
    }
    let bottom = y;
    let mut axis = String::new();
    for tick in 0..=8_u8 {
        let value = f64::from(tick) * 0.2;
        let x = x(value);
        let class = if tick == 5 { "one" } else { "tick" };
        let _ =
            writeln!(axis, r#"<line class="{class}" x1="{x}" y1="30" x2="{x}" y2="{bottom}"/>"#);
        let _ = writeln!(axis, r#"<text class="number" x="{x}" y="20">{value:.1}</text>"#);
    }
    let (width, height) = (LEFT + WIDTH + 80.0, bottom + 20.0);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">
<style>
.figure {{ font-weight: bold }} .number {{ text-anchor: middle; fill: #666 }} .case {{ text-anchor: end }}
.tick {{ stroke: #ddd }} .one {{ stroke: #888 }} .interval {{ stroke: #2a6fbb; stroke-width: 2 }}
.dot {{ fill: #2a6fbb }} .bound {{ stroke: #c33; stroke-width: 3 }} .value {{ fill: #2a6fbb }}
</style>
<rect width="100%" height="100%" fill="white"/>
{axis}{body}<text class="number" x="{middle}" y="{end}">ratio; blue: median and its 95 % interval, red: bound</text>
</svg>
"##,
        middle = LEFT + WIDTH / 2.0,
        end = bottom + 14.0,
    )
}

fn row(body: &mut String, y: f64, case: &str, share: f64, point: &Value) {
    let of = |key: &str| x(point[key].as_f64().unwrap_or(share));
    let (low, high, at, middle) = (of("low"), of("high"), x(share), y - 4.0);
    let _ = writeln!(
        body,
        r#"<text class="case" x="{}" y="{y}">{}</text>"#,
        LEFT - 12.0,
        escaped(case)
    );
    let _ = writeln!(
        body,
        r#"<line class="interval" x1="{low}" y1="{middle}" x2="{high}" y2="{middle}"/>"#
    );
    let _ = writeln!(body, r#"<circle class="dot" cx="{at}" cy="{middle}" r="4"/>"#);
    if let Some(bound) = point["bound"].as_f64() {
        let (x, top, bottom) = (x(bound), middle - 8.0, middle + 8.0);
        let _ =
            writeln!(body, r#"<line class="bound" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>"#);
    }
    let _ = writeln!(
        body,
        r#"<text class="value" x="{}" y="{y}">{share:.2}</text>"#,
        LEFT + WIDTH + 14.0
    );
}

fn x(value: f64) -> f64 {
    LEFT + WIDTH * value.clamp(0.0, MOST) / MOST
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
