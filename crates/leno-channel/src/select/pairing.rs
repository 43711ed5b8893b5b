//! Which offer to take from each channel of a join, when one select may offer on several of them.
//!
//! A select can be met once, so no two channels may count on the same one. First come, first served
//! where that works; where it does not, a channel gives way to another one if it has a second offer.

use std::sync::Arc;

use crate::exchange::Offer;

/// One of each channel's offers, no select twice; `None` if there is no such choice.
pub(crate) fn pair(offers: &[Vec<Offer>]) -> Option<Vec<Offer>> {
    let mut chosen: Vec<Option<usize>> = vec![None; offers.len()];
    for channel in 0..offers.len() {
        let mut asked = Vec::new();
        if !choose(offers, channel, &mut chosen, &mut asked) {
            return None;
        }
    }
    Some(offers.iter().zip(chosen).map(|(of, place)| of[place.expect("chosen")].clone()).collect())
}

/// Chooses for one channel; `asked` are the selects that were asked for in this round.
fn choose<'a>(
    offers: &'a [Vec<Offer>],
    channel: usize,
    chosen: &mut [Option<usize>],
    asked: &mut Vec<&'a Offer>,
) -> bool {
    for (place, offer) in offers[channel].iter().enumerate() {
        if asked.iter().any(|other| is_same(other, offer)) {
            continue;
        }
        asked.push(offer);
        let rival = (0..offers.len())
            .find(|rival| chosen[*rival].is_some_and(|r| is_same(&offers[*rival][r], offer)));
        let is_free = match rival {
            None => true,
            Some(rival) => choose(offers, rival, chosen, asked),
        };
        if is_free {
            chosen[channel] = Some(place);
            return true;
        }
    }
    false
}

fn is_same(one: &Offer, other: &Offer) -> bool {
    match (one.coupon(), other.coupon()) {
        (Some(one), Some(other)) => Arc::ptr_eq(&one.ticket, &other.ticket),
        _ => false,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use leno_kernel::Object;

    use super::*;
    use crate::exchange::{Coupon, Key};
    use crate::select::ticket::Ticket;

    /// Offers by the numbers of their selects; 0 is a party that is in none.
    fn offers(numbers: &[&[usize]]) -> Vec<Vec<Offer>> {
        let tickets: Vec<_> = (0..9).map(|_| Ticket::take(Object::local())).collect();
        let offer = |number: usize| {
            let ticket = tickets[number].clone();
            Offer::Party(
                Key::numbered(number),
                (number > 0).then_some(Coupon { ticket, alternative: 0 }),
            )
        };
        numbers.iter().map(|of| of.iter().map(|number| offer(*number)).collect()).collect()
    }

    fn places(numbers: &[&[usize]]) -> Option<Vec<usize>> {
        let offers = offers(numbers);
        let chosen = pair(&offers)?;
        let place = |(of, chosen): (&Vec<Offer>, &Offer)| {
            let key = |offer: &Offer| match offer {
                Offer::Party(key, _) => *key,
                Offer::Stored => unreachable!(),
            };
            of.iter().position(|offer| key(offer) == key(chosen)).unwrap()
        };
        Some(offers.iter().zip(&chosen).map(place).collect())
    }

    #[test]
    fn the_first_of_each_unless_that_is_the_same() {
        assert_eq!(places(&[&[1, 2], &[3, 4]]), Some(vec![0, 0]));
        assert_eq!(places(&[&[1, 0], &[1]]), Some(vec![1, 0]), "the first gives way");
        assert_eq!(places(&[&[1], &[1]]), None);
        assert_eq!(places(&[&[1, 2], &[1], &[2, 3]]), Some(vec![1, 0, 1]));
        assert_eq!(places(&[&[1, 2], &[2, 1], &[1, 2]]), None);
        assert_eq!(places(&[&[0], &[0]]), Some(vec![0, 0]), "no select at all");
    }
}
