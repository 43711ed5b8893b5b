use super::{Spread, straight_line};

#[test]
fn spread_of_nothing_is_nothing() {
    assert_eq!(Spread::of([]), None);
}

#[test]
fn spread_interpolates_between_neighbours() {
    let s = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
    assert_eq!((s.min, s.median, s.max), (1.0, 2.5, 4.0));
    assert_eq!((s.lower, s.upper), (1.75, 3.25));
}

#[test]
fn one_disturbed_sample_does_not_move_the_median() {
    let s = Spread::of([2.0, 2.0, 900.0, 2.0, 2.0]).unwrap();
    assert_eq!((s.lower, s.median, s.upper, s.max), (2.0, 2.0, 2.0, 900.0));
}

#[test]
fn straight_line_finds_base_and_slope() {
    let (base, slope) = straight_line(&[(1.0, 8.0), (2.0, 11.0), (4.0, 17.0)]).unwrap();
    assert!((base - 5.0).abs() < 1e-9 && (slope - 3.0).abs() < 1e-9);
    assert_eq!(straight_line(&[(1.0, 8.0), (1.0, 9.0)]), None);
    assert_eq!(straight_line(&[]), None);
}
