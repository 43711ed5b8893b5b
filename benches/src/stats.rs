//! The few statistics a report needs: medians, quartiles, a straight line through points.
//!
//! Medians and quartiles rather than means: on a shared machine the disturbances are one-sided and
//! large, and a mean would measure the neighbours.

#[cfg(test)]
mod tests;

/// The middle of a set of samples and how far they spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub lower: f64,
    pub median: f64,
    pub upper: f64,
    pub max: f64,
}

impl Spread {
    /// `None` when there is no sample.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Self {
            min,
            lower: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper: quantile(&sorted, 0.75),
            max,
        })
    }
}

/// The value below which a share `q` of the sorted samples lies, interpolated between neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Least squares: `(base, slope)` of `y = base + slope * x`. `None` below two distinct `x`.
pub fn straight_line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let across: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    if across.is_nan() || across == 0.0 {
        return None;
    }
    let along: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let slope = along / across;
    Some((mean_y - slope * mean_x, slope))
}
