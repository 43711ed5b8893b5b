//! The book-keeping, without a handler. Addresses stand for coroutines.

use super::*;

fn coroutine(n: usize) -> *mut Control {
    core::ptr::without_provenance_mut(n * 64)
}

#[test]
fn a_coroutine_is_within_in_its_region_and_outside_of_its_sections() {
    let (regions, a, b) = (Regions::new(), coroutine(1), coroutine(2));
    let region = regions.add(a);
    assert_eq!((regions.within(a), regions.within(b)), (a, core::ptr::null_mut()));
    let sections = [regions.open(a), regions.open(a)];
    assert_eq!(sections, [Some(region); 2]);
    assert_eq!(regions.open(b), None);
    assert_eq!(regions.close(region), Some(a));
    assert!(regions.within(a).is_null(), "the other one is open");
    assert_eq!(regions.close(region), Some(a));
    assert_eq!(regions.within(a), a);
}

#[test]
fn a_section_that_is_closed_after_its_region_does_nothing() {
    let (regions, a) = (Regions::new(), coroutine(1));
    let first = regions.add(a);
    let section = regions.open(a).unwrap();
    regions.remove(first);
    assert_eq!(regions.close(section), None);
    assert!(regions.within(a).is_null());

    let second = regions.add(a);
    let own = regions.open(a).unwrap();
    assert_eq!(own, second);
    assert_eq!(regions.close(section), None, "nor in the next one");
    assert!(regions.within(a).is_null());
}

#[test]
fn a_section_of_an_outer_region_changes_nothing_in_an_inner_one() {
    let (regions, a) = (Regions::new(), coroutine(1));
    let outer = regions.add(a);
    regions.open(a).unwrap();
    let inner = regions.add(a);
    regions.open(a).unwrap();
    assert_eq!(regions.close(outer), Some(a));
    assert!(regions.within(a).is_null(), "a section of the inner one is open");
    regions.close(inner);
    assert_eq!(regions.within(a), a);
    regions.remove(inner);
    assert_eq!(regions.within(a), a, "in the outer one, whose section was closed");
    regions.remove(outer);
    assert!(regions.within(a).is_null());
    assert_eq!(regions.count.get(), 0);
}
