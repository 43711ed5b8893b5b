//! How numbers are written: three significant places, thousands grouped, so that a column of
//! figures between 1.7 and 1,700,000 stays readable.

#[cfg(test)]
mod tests;

/// A measured value: two decimals below 10, one below 100, none above, thousands grouped.
pub fn measured(value: f64) -> String {
    match value.abs() {
        v if v < 0.005 => "0.00".into(), // Never "-0.00".
        v if v < 10.0 => format!("{value:.2}"),
        v if v < 100.0 => format!("{value:.1}"),
        _ => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(value.abs().round() as u64))
        }
    }
}

/// A whole number with its thousands grouped.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A ratio: finer below 1, where most of the interesting ones are.
pub fn ratio(value: f64) -> String {
    match value {
        v if v < 0.000995 => format!("{value:.6}"),
        v if v < 0.0995 => format!("{value:.3}"),
        v if v < 9.995 => format!("{value:.2}"),
        _ => measured(value),
    }
}

/// A short label for a size: 1000 is `1k`, 1,000,000 is `1M`.
pub fn short(value: u64) -> String {
    match value {
        v if v >= 1_000_000 && v % 1_000_000 == 0 => format!("{}M", v / 1_000_000),
        v if v >= 1_000 && v % 1_000 == 0 => format!("{}k", v / 1_000),
        v => v.to_string(),
    }
}
