use super::{grouped, measured, ratio, short};

#[test]
fn measured_keeps_three_places() {
    assert_eq!(measured(1.678), "1.68");
    assert_eq!(measured(16.78), "16.8");
    assert_eq!(measured(1678.4), "1,678");
    assert_eq!(measured(-1678.4), "-1,678");
}

#[test]
fn thousands_are_grouped_from_the_right() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1_000), "1,000");
    assert_eq!(grouped(1_234_567), "1,234,567");
}

#[test]
fn ratios_are_finer_below_one() {
    assert_eq!(ratio(0.0000812), "0.000081");
    assert_eq!(ratio(0.0213), "0.021");
    assert_eq!(ratio(0.213), "0.21");
    assert_eq!(ratio(2.0), "2.00");
    assert_eq!(ratio(213.0), "213");
}

#[test]
fn short_labels_only_round_sizes() {
    assert_eq!(short(256), "256");
    assert_eq!(short(4_000), "4k");
    assert_eq!(short(1_000_000), "1M");
    assert_eq!(short(1_500), "1500");
}
