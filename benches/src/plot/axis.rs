//! A logarithmic axis: where a value lies, and which values get a line and a label.

use crate::number;

pub struct Axis {
    low: f64,
    high: f64,
    /// Where the lowest and the highest value are drawn.
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over all values, ended at whole steps of 1, 2 and 5. `None` without values above 0.
    pub fn over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let mut ends = None;
        for value in values.into_iter().filter(|v| *v > 0.0) {
            let (low, high): (f64, f64) = ends.unwrap_or((value, value));
            ends = Some((low.min(value), high.max(value)));
        }
        let (low, high) = ends?;
        let low = steps(low / 10.0, low).last()?;
        let high = steps(high, high * 10.0).next()?;
        let high = if high > low { high } else { low * 10.0 };
        Some(Self { low, high, from, to })
    }

    /// Where its lowest value is drawn.
    pub fn start(&self) -> f64 {
        self.from
    }

    pub fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).log10() / (self.high / self.low).log10();
        self.from + (self.to - self.from) * share
    }

    /// The values that get a line, each with its label where it has one: the lowest and powers of
    /// ten always, the steps between only on a short axis.
    pub fn ticks(&self) -> Vec<(f64, Option<String>)> {
        let short = (self.high / self.low).log10() <= 3.0;
        let first = steps(self.low, self.high).next().unwrap_or(self.low);
        let labelled = |v: f64| (short || v == first || is_power_of_ten(v)).then(|| label(v));
        steps(self.low, self.high).map(|v| (v, labelled(v))).collect()
    }
}

/// The values of 1, 2 and 5 times powers of ten between two values, both included.
fn steps(low: f64, high: f64) -> impl Iterator<Item = f64> {
    // Comparisons allow for rounding in the powers.
    let (low, high) = (low * (1.0 - 1e-9), high * (1.0 + 1e-9));
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    decades
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)))
        .filter(move |value| (low..=high).contains(value))
}

fn is_power_of_ten(value: f64) -> bool {
    (value.log10() - value.log10().round()).abs() < 1e-9
}

fn label(value: f64) -> String {
    if value < 1.0 { format!("{value}") } else { number::short(value.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn an_axis_ends_at_whole_steps() {
        let axis = Axis::over([3.0, 70.0], 0.0, 100.0).unwrap();
        let ticks: Vec<f64> = axis.ticks().into_iter().map(|t| t.0).collect();
        assert_eq!(ticks, [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!((axis.place(2.0), axis.place(100.0)), (0.0, 100.0));
    }

    #[test]
    fn a_single_value_has_an_axis_and_none_has_not() {
        let axis = Axis::over([5.0], 0.0, 100.0).unwrap();
        assert!((0.0..=100.0).contains(&axis.place(5.0)));
        assert!(Axis::over([], 0.0, 1.0).is_none());
        assert!(Axis::over([0.0], 0.0, 1.0).is_none());
    }

    #[test]
    fn a_long_axis_labels_its_start_and_powers_of_ten() {
        let axis = Axis::over([2.0, 1_000_000.0], 0.0, 100.0).unwrap();
        let labels: Vec<String> = axis.ticks().into_iter().filter_map(|t| t.1).collect();
        assert_eq!(labels, ["2", "10", "100", "1k", "10k", "100k", "1M"]);
    }
}
