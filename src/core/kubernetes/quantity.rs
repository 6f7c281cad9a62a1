//! Quantities (`2Gi`, `500m`, `1e3`) as exact decimals.
//!
//! Two texts are the same quantity when they are the same number, after the rounding that the API
//! server does. Source: `k8s.io/apimachinery/pkg/api/resource` at v0.36.3, and
//! measurements of what a 1.36.3 server stores.

use std::cmp::Ordering;

/// A quantity: `digits` × 10^`exponent`, without leading or trailing zero digits; zero has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    /// Decimal digits, most significant first.
    digits: Vec<u8>,
    exponent: i64,
}

/// The most digits a quantity may have. The server keeps more, but no committed template does,
/// and a bound keeps hostile input linear.
const MAX_DIGITS: usize = 100;

impl Quantity {
    /// Reads a quantity as the API server does; `None` when it would refuse the text. Outer spaces
    /// are trimmed, precision below nano is rounded up, and a binary suffix above 2^63-1 is
    /// clamped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
        if text == "0" {
            return Some(Quantity { negative: false, digits: vec![], exponent: 0 });
        }
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.len() + fraction.len() == 0 || number.len() > MAX_DIGITS
        {
            return None;
        }
        let mut quantity = Quantity {
            negative,
            digits: whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect(),
            exponent: -(i64::try_from(fraction.len()).ok()?),
        };
        match suffix_of(suffix)? {
            Suffix::Decimal(power) => {
                quantity.exponent = quantity.exponent.checked_add(power)?;
                quantity.normalise();
            }
            Suffix::Binary(power) => {
                for _ in 0..power {
                    quantity.times_1024();
                }
                quantity.normalise();
                if quantity.magnitude_cmp(&largest_int()) == Ordering::Greater {
                    quantity = Quantity { negative, ..largest_int() };
                }
            }
        }
        quantity.round_up(-9);
        Some(quantity)
    }

    /// The quantity that an integer is.
    #[must_use]
    pub fn from_int(int: i64) -> Self {
        let mut quantity = Quantity {
            negative: int < 0,
            digits: int.unsigned_abs().to_string().bytes().map(|b| b - b'0').collect(),
            exponent: 0,
        };
        quantity.normalise();
        quantity
    }

    /// Rounded up to milli-units, as the API server stores resource lists
    /// (`pkg/apis/core/v1/defaults.go`, `SetDefaults_ResourceList`).
    #[must_use]
    pub fn rounded_to_milli(mut self) -> Self {
        self.round_up(-3);
        self
    }

    /// Rounds away from zero to a multiple of 10^`power`.
    fn round_up(&mut self, power: i64) {
        if self.exponent >= power || self.digits.is_empty() {
            return;
        }
        let dropped = usize::try_from(power - self.exponent).unwrap_or(usize::MAX);
        // The last digit is never zero, so something is always lost: round up.
        self.digits.truncate(self.digits.len().saturating_sub(dropped));
        self.exponent = power;
        let mut carry = true;
        for digit in self.digits.iter_mut().rev() {
            if *digit == 9 {
                *digit = 0;
            } else {
                *digit += 1;
                carry = false;
                break;
            }
        }
        if carry {
            self.digits.insert(0, 1);
        }
        self.normalise();
    }

    fn times_1024(&mut self) {
        let mut carry = 0u32;
        for digit in self.digits.iter_mut().rev() {
            let product = u32::from(*digit) * 1024 + carry;
            *digit = u8::try_from(product % 10).unwrap_or(0);
            carry = product / 10;
        }
        while carry > 0 {
            self.digits.insert(0, u8::try_from(carry % 10).unwrap_or(0));
            carry /= 10;
        }
    }

    fn normalise(&mut self) {
        let zeros = self.digits.iter().take_while(|d| **d == 0).count();
        self.digits.drain(..zeros);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            (self.negative, self.exponent) = (false, 0);
        }
    }

    fn magnitude_cmp(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let scale =
            |q: &Self| i64::try_from(q.digits.len()).unwrap_or(i64::MAX).saturating_add(q.exponent);
        // Equally many places before the point: digit by digit, a shorter one is padded with zeros.
        scale(self).cmp(&scale(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

enum Suffix {
    /// A power of ten.
    Decimal(i64),
    /// A power of 1024.
    Binary(u32),
}

fn suffix_of(suffix: &str) -> Option<Suffix> {
    Some(match suffix {
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "" => Suffix::Decimal(0),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(1),
        "Mi" => Suffix::Binary(2),
        "Gi" => Suffix::Binary(3),
        "Ti" => Suffix::Binary(4),
        "Pi" => Suffix::Binary(5),
        "Ei" => Suffix::Binary(6),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            // The server reads the exponent as a 32-bit integer.
            Suffix::Decimal(exponent.parse::<i32>().ok()?.into())
        }
    })
}

fn largest_int() -> Quantity {
    Quantity::from_int(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn the_same_number_is_the_same_quantity() {
        for (a, b) in [
            ("2048Mi", "2Gi"),
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.", "1"),
            ("1k", "1e3"),
            ("1E3", "1000"),
            ("2147483648", "2Gi"),
            ("1.5Gi", "1536Mi"),
            ("1.1Gi", "1181116006400m"),
            ("0Gi", "0"),
            ("00", "0m"),
            ("+1Gi", "01Gi"),
            ("1e400", "10e399"),
            (" 1 ", "1"),
            ("10Ei", "9223372036854775807"),
            ("1e-10", "1n"),
            ("-0", "0"),
        ] {
            assert_eq!(q(a), q(b), "{a} and {b}");
        }
        for (a, b) in [("1Gi", "1G"), ("1", "1001m"), ("10E", "10Ei"), ("1e9", "1e10"), ("1", "-1")]
        {
            assert_ne!(q(a), q(b), "{a} and {b}");
        }
    }

    #[test]
    fn what_the_server_refuses_is_no_quantity() {
        for text in [
            "", "K", "1K", "1gi", "1 Gi", "1_0", "0x1", "1.2.3", "e3", "1e", "1e+", "--1", "٣",
            ".", "1Gi1",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn resource_lists_round_up_to_milli() {
        assert_eq!(q("100n").rounded_to_milli(), q("1m"));
        assert_eq!(q("0.0001").rounded_to_milli(), q("1m"));
        assert_eq!(q("1.9991").rounded_to_milli(), q("2"));
        assert_eq!(q("1.9999").rounded_to_milli(), q("2"));
        assert_eq!(q("1.001").rounded_to_milli(), q("1001m"));
        assert_eq!(q("1e-2000000000").rounded_to_milli(), q("1m"));
    }

    #[test]
    fn quantities_are_ordered_by_value() {
        assert!(
            q("64Mi") < q("2Gi")
                && q("-1") < q("0")
                && q("0") < q("1n")
                && q("1e30") > q("9999999999")
        );
        assert!(q("1500m") > q("1.4") && q("-2") < q("-1"));
    }
}
