use super::*;
use crate::Reason;
use crate::policy::testing::Random;

fn co(n: u32) -> Co {
    Co::new(0, n, 1)
}

fn sending(channel: Object) -> End {
    End { channel, side: Side::Sending }
}

fn receiving(channel: Object) -> End {
    End { channel, side: Side::Receiving }
}

fn verdicts(ledger: &Ledger, all: &[(u32, Option<Reason>)]) -> Vec<(u32, Verdict)> {
    let all: Vec<_> = all.iter().map(|(n, reason)| (co(*n), *reason)).collect();
    ledger.judge(&all).into_iter().map(|(co, verdict)| (co.slot(), verdict)).collect()
}

#[test]
fn k29_two_that_wait_for_each_other_are_unreachable() {
    let (one, two) = (Object::local(), Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Co(co(1)), receiving(one));
    ledger.learn(Knower::Co(co(1)), sending(two));
    ledger.learn(Knower::Co(co(2)), receiving(two));
    ledger.learn(Knower::Co(co(2)), sending(one));
    let both = [(1, Some(Reason::Hungry(one))), (2, Some(Reason::Hungry(two)))];
    assert_eq!(verdicts(&ledger, &both), [(1, Verdict::Unreachable), (2, Verdict::Unreachable)]);
    // A third one that can run and knows one of the ends could wake both.
    ledger.learn(Knower::Co(co(3)), sending(one));
    let three = [both[0], both[1], (3, None)];
    assert_eq!(verdicts(&ledger, &three), [(1, Verdict::Reached), (2, Verdict::Reached)]);
    ledger.forget_co(co(3));
    ledger.learn(Knower::World, sending(two));
    assert_eq!(verdicts(&ledger, &both), [(1, Verdict::Zombie), (2, Verdict::Zombie)]);
}

#[test]
fn k23_whoever_waits_at_a_reachable_channel_is_reachable_in_turn() {
    let channels: Vec<_> = (0..5).map(|_| Object::local()).collect();
    let mut ledger = Ledger::default();
    let mut all = vec![(0, None)];
    for (n, channel) in channels.iter().enumerate() {
        ledger.learn(Knower::Co(co(n as u32)), sending(*channel));
        ledger.learn(Knower::Co(co(n as u32 + 1)), receiving(*channel));
        all.push((n as u32 + 1, Some(Reason::Hungry(*channel))));
    }
    assert!(verdicts(&ledger, &all).iter().all(|(_, verdict)| *verdict == Verdict::Reached));
    ledger.forget(Knower::Co(co(2)), sending(channels[2]));
    let after: Vec<_> = verdicts(&ledger, &all).into_iter().map(|(_, verdict)| verdict).collect();
    use Verdict::{Reached, Unreachable};
    assert_eq!(after, [Reached, Reached, Unreachable, Unreachable, Unreachable]);
}

#[test]
fn k22_an_end_that_travels_is_known_to_whoever_can_receive_it() {
    let (road, goal) = (Object::local(), Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Parcel(road), sending(goal));
    ledger.learn(Knower::Co(co(1)), receiving(goal));
    ledger.learn(Knower::Co(co(2)), receiving(road));
    let waits = (1, Some(Reason::Hungry(goal)));
    assert_eq!(verdicts(&ledger, &[waits, (2, None)]), [(1, Verdict::Reached)]);
    ledger.forget_co(co(2));
    assert_eq!(verdicts(&ledger, &[waits]), [(1, Verdict::Unreachable)]);
}

#[test]
fn other_waits_and_other_channels_are_left_alone() {
    let (known, unknown) = (Object::local(), Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Co(co(1)), sending(known));
    ledger.learn(Knower::Co(co(2)), receiving(known));
    let all = [
        (1, Some(Reason::Hungry(unknown))),
        (2, Some(Reason::Hungry(known))),
        (3, Some(Reason::Sleeping)),
    ];
    assert_eq!(verdicts(&ledger, &all), [(2, Verdict::Reached)]);
}

fn tellers(ledger: &Ledger, all: &[(u32, Option<Reason>)]) -> Vec<u32> {
    let all: Vec<_> = all.iter().map(|(n, reason)| (co(*n), *reason)).collect();
    ledger.tellers(&all).into_iter().map(|co| co.slot()).collect()
}

#[test]
fn k29_in_a_circle_through_a_join_or_a_close_the_other_gives_way() {
    // 1 waits to be told of 2, which waits for what only 1 could send.
    let (one, two) = (Object::local(), Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Co(co(1)), sending(two));
    ledger.learn(Knower::Co(co(2)), receiving(two));
    let hungry = (2, Some(Reason::Hungry(two)));
    let joins = [(1, Some(Reason::Joining(Some(co(2))))), hungry];
    assert_eq!(
        (verdicts(&ledger, &joins), tellers(&ledger, &joins)),
        (vec![(2, Verdict::Reached)], vec![2])
    );
    ledger.learn(Knower::Co(co(1)), receiving(one));
    ledger.learn(Knower::Co(co(2)), sending(one));
    let expects = [(1, Some(Reason::Expecting(one))), hungry];
    assert_eq!(tellers(&ledger, &expects), [2]);
    // A third one that could go on, or the world, might wake either.
    assert_eq!(tellers(&ledger, &[expects[0], hungry, (3, None)]), [2], "it knows nothing");
    ledger.learn(Knower::Co(co(3)), sending(one));
    assert_eq!(tellers(&ledger, &[expects[0], hungry, (3, None)]), []);
    ledger.forget_co(co(3));
    ledger.learn(Knower::World, sending(two));
    assert_eq!(tellers(&ledger, &expects), []);
    // Who waits to be told does not give way itself.
    ledger.forget(Knower::World, sending(two));
    assert_eq!(tellers(&ledger, &[expects[0], (2, Some(Reason::Expecting(two)))]), []);
}

#[test]
fn k29_only_those_give_way_who_have_to() {
    // 1 expects what 2 could send, 2 and 3 wait for 1.
    let channels = [(); 3].map(|()| Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Co(co(2)), sending(channels[0]));
    ledger.learn(Knower::Co(co(1)), sending(channels[1]));
    ledger.learn(Knower::Co(co(1)), sending(channels[2]));
    let all = [
        (1, Some(Reason::Expecting(channels[0]))),
        (2, Some(Reason::Hungry(channels[1]))),
        (3, Some(Reason::Hungry(channels[2]))),
    ];
    assert_eq!(tellers(&ledger, &all), [2], "3 may be fed once 1 goes on");
    // The end is on its way: whoever sends it gives way.
    ledger.forget_co(co(2));
    ledger.learn(Knower::Parcel(channels[1]), sending(channels[0]));
    let sends = [all[0], (2, Some(Reason::Blocked(channels[1]))), all[2]];
    assert_eq!(tellers(&ledger, &sends), [2]);
}

#[test]
fn a_future_that_says_by_which_ends_alone_it_is_woken_is_judged_by_all_of_them() {
    let (one, two) = (Object::local(), Object::local());
    let mut ledger = Ledger::default();
    ledger.learn(Knower::Co(co(2)), sending(one));
    ledger.learn(Knower::Co(co(1)), receiving(two));
    let future = (1, Some(Reason::Future));
    assert_eq!(verdicts(&ledger, &[future]), [], "nothing was said");
    ledger.needs.insert(co(1), vec![sending(one), sending(two)]);
    assert_eq!(verdicts(&ledger, &[future]), [(1, Verdict::Unreachable)]);
    assert_eq!(verdicts(&ledger, &[future, (2, None)]), [(1, Verdict::Reached)]);
    assert_eq!(ledger.outcome(co(1), Reason::Future), Outcome::Starved);
    ledger.forget_co(co(1));
    assert_eq!(verdicts(&ledger, &[future]), []);
}

#[test]
fn what_is_learnt_twice_is_forgotten_twice() {
    let channel = Object::local();
    let mut ledger = Ledger::default();
    for knower in [Knower::World, Knower::Co(co(1)), Knower::Parcel(channel)] {
        ledger.learn(knower, sending(channel));
        ledger.learn(knower, sending(channel));
        assert!(ledger.forget(knower, sending(channel)));
        assert!(!ledger.is_empty());
        assert!(ledger.forget(knower, sending(channel)));
        assert!(!ledger.forget(knower, sending(channel)));
        assert!(ledger.is_empty());
    }
}

/// Random ledgers, against rules applied again and again until nothing changes.
#[test]
fn a_pass_agrees_with_the_rules_applied_until_nothing_changes() {
    let mut random = Random(7);
    for _ in 0..500 {
        let channels: Vec<_> = (0..4).map(|_| Object::local()).collect();
        let mut ledger = Ledger::default();
        let end = |random: &mut Random| {
            let channel = channels[random.below(4) as usize];
            if random.below(2) == 0 { sending(channel) } else { receiving(channel) }
        };
        for _ in 0..random.below(12) {
            let knower = match random.below(8) {
                0 => Knower::World,
                1 | 2 => Knower::Parcel(channels[random.below(4) as usize]),
                _ => Knower::Co(co(random.below(6))),
            };
            let end = end(&mut random);
            ledger.learn(knower, end);
        }
        let all: Vec<(u32, Option<Reason>)> = (0..6)
            .map(|n| {
                let channel = channels[random.below(4) as usize];
                let reason = match random.below(7) {
                    0 => None,
                    1 | 2 => Some(Reason::Blocked(channel)),
                    3 => Some(Reason::Expecting(channel)),
                    4 => Some(Reason::Joining(Some(co(random.below(6))))),
                    _ => Some(Reason::Hungry(channel)),
                };
                (n, reason)
            })
            .collect();
        let own: Vec<_> = verdicts(&ledger, &all);
        assert_eq!(own, naive(&ledger, &all), "{ledger:?} {all:?}");
        check_tellers(&ledger, &all);
    }
}

/// The end that a plain wait needs.
fn plain(ledger: &Ledger, reason: Option<Reason>) -> Option<End> {
    let end = match reason? {
        Reason::Hungry(channel) => sending(channel),
        Reason::Blocked(channel) => receiving(channel),
        _ => return None,
    };
    ledger.channels.contains_key(&end.channel).then_some(end)
}

/// Who gives way waits plainly, and nobody could ever wake it as long as those who wait to be told are
/// not; if nobody does, then each of those could be woken, or has a teller that could or waits to be told.
fn check_tellers(ledger: &Ledger, all: &[(u32, Option<Reason>)]) {
    let word = |reason: Option<Reason>| match reason? {
        Reason::Expecting(channel) => {
            ledger.channels.contains_key(&channel).then_some(sending(channel))
        }
        _ => None,
    };
    let mut ends: Vec<End> = ledger.world.keys().copied().collect();
    let mut awake: Vec<u32> = Vec::new();
    loop {
        let before = (ends.len(), awake.len());
        for (n, reason) in all.iter().filter(|(n, _)| !awake.contains(n)).collect::<Vec<_>>() {
            let goes_on = match (plain(ledger, *reason).or(word(*reason)), reason) {
                (Some(end), _) => ends.contains(&end),
                (None, Some(Reason::Joining(Some(other)))) => awake.contains(&other.slot()),
                _ => true,
            };
            if goes_on {
                awake.push(*n);
                ends.extend(ledger.ends_of(co(*n)));
            }
        }
        for end in ends.clone() {
            if end.side == Side::Receiving {
                ends.extend(ledger.parcels_in(end.channel));
            }
        }
        ends.sort_unstable();
        ends.dedup();
        if (ends.len(), awake.len()) == before {
            break;
        }
    }
    let gives_way = |n: &u32| {
        let waits = all.iter().any(|(m, reason)| m == n && plain(ledger, *reason).is_some());
        waits && !awake.contains(n)
    };
    let found = tellers(ledger, all);
    assert!(found.iter().all(gives_way), "{found:?} {ledger:?} {all:?}");
    if !found.is_empty() {
        return;
    }
    for (n, reason) in all.iter().filter(|(n, _)| !awake.contains(n)) {
        let own: Vec<u32> = match (word(*reason), reason) {
            (Some(end), _) => (0..6)
                .filter(|m| {
                    let carries = |channel: &Object| {
                        all[*m as usize].1 == Some(Reason::Blocked(*channel))
                            && ledger.parcels_in(*channel).contains(&end)
                    };
                    ledger.ends_of(co(*m)).contains(&end) || ledger.parcels.keys().any(carries)
                })
                .collect(),
            (None, Some(Reason::Joining(Some(other)))) => vec![other.slot()],
            _ => continue,
        };
        assert!(own.is_empty() || !own.iter().all(gives_way), "{n}: {own:?} {ledger:?} {all:?}");
    }
}

fn naive(ledger: &Ledger, all: &[(u32, Option<Reason>)]) -> Vec<(u32, Verdict)> {
    let needs = |reason| plain(ledger, reason);
    let close = |mut ends: Vec<End>| loop {
        let before = ends.len();
        for (n, reason) in all {
            if needs(*reason).is_none_or(|end| ends.contains(&end)) {
                ends.extend(ledger.ends_of(co(*n)));
            }
        }
        for end in ends.clone() {
            if end.side == Side::Receiving {
                ends.extend(ledger.parcels_in(end.channel));
            }
        }
        ends.sort_unstable();
        ends.dedup();
        if ends.len() == before {
            return ends;
        }
    };
    let inside = close(Vec::new());
    let with_world = close(ledger.world.keys().copied().collect());
    let verdict = |(n, reason): &(u32, Option<Reason>)| {
        let end = needs(*reason)?;
        Some(match (inside.contains(&end), with_world.contains(&end)) {
            (true, _) => (*n, Verdict::Reached),
            (false, true) => (*n, Verdict::Zombie),
            (false, false) => (*n, Verdict::Unreachable),
        })
    };
    all.iter().filter_map(verdict).collect()
}
