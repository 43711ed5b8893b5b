use super::*;

fn taken(size: StackSize) -> Stack {
    // SAFETY: it is given back, and nobody looks for coroutines of this thread.
    unsafe { take(size) }.unwrap()
}

fn returned(stack: Stack) {
    // SAFETY: nobody runs on it.
    unsafe { give_back(stack) };
}

#[test]
fn sizes_are_hints_with_a_minimum() {
    for asked in [0, 1, MIN_SIZE] {
        assert_eq!(StackSize::holding(asked).unwrap().bytes(), MIN_SIZE);
    }
    assert_eq!(StackSize::holding(MIN_SIZE + 1).unwrap().bytes(), 2 * MIN_SIZE);
    assert_eq!(StackSize::holding(DEFAULT_SIZE).unwrap(), StackSize::DEFAULT);
    assert_eq!(StackSize::holding(MAX_SIZE).unwrap().bytes(), MAX_SIZE);
}

#[test]
fn an_absurd_size_is_refused_by_name() {
    let error = StackSize::holding(MAX_SIZE + 1).unwrap_err();
    assert!(error.to_string().contains("1073741825 bytes was asked for"), "{error}");
    assert!(StackSize::holding(usize::MAX).is_err());
}

#[test]
fn strides_are_odd_numbers_of_pages() {
    for class in 0..CLASSES as u8 {
        assert_eq!(StackSize(class).stride() / PAGE % 2, 1);
    }
}

#[test]
fn a_stack_is_found_by_any_address_in_it() {
    let stack = taken(StackSize::DEFAULT);
    let found = |address| locate(address).map(|(_, slot, guard)| (slot, guard));
    assert_eq!(found(stack.limit().addr()), Some((stack.slot, false)));
    assert_eq!(found(stack.top().addr() - 1), Some((stack.slot, false)));
    assert_eq!(found(stack.limit().addr() - 1), Some((stack.slot, true)));
    assert_eq!(found(0x1000), None);
    returned(stack);
}

#[test]
fn a_stack_given_back_is_used_again() {
    let size = StackSize::holding(128 * 1024).unwrap();
    let first = taken(size);
    let top = first.top();
    returned(first);
    let again = taken(size);
    assert_eq!(again.top(), top);
    returned(again);
}

#[test]
#[cfg_attr(miri, ignore = "maps and touches many stacks")]
fn the_pool_is_bounded_in_memory_and_reports_its_figures() {
    let size = StackSize::holding(32 * 1024).unwrap();
    let stacks: Vec<Stack> = (0..4000).map(|_| taken(size)).collect();
    let full = figures();
    assert!(full.live >= 4000 && full.high_water >= 4000, "{full:?}");
    for stack in &stacks {
        // SAFETY: inside the stack.
        unsafe { stack.top().wrapping_sub(8).write(1) };
    }
    stacks.into_iter().for_each(returned);
    let empty = figures();
    assert!(empty.pooled >= 4000, "{empty:?}");
    assert!(empty.trims > full.trims || empty.guards == guard::Guards::None, "{empty:?}");
    // Other tests of this process take a few meanwhile.
    assert!(empty.high_water < full.high_water + 100, "nothing was carved anew: {empty:?}");
}
