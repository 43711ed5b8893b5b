//! Where the parts of a picture of waiting go.
//!
//! Each waits for at most one other, so what hangs together is a tree, except that its root may be
//! a circle. Whoever waits stands left of what is waited for. Columns are layers: one more than the
//! longest chain of those who wait. Each one for whom nobody waits has a row of its own, and the
//! others stand in the middle of those who wait for them; hence no two arrows cross. A circle is cut
//! before the first of its members, and these stand in one row, with space above for the arrow
//! back.

/// Where something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) column: usize,
    /// In units of a row.
    pub(crate) row: f64,
}

/// Where everything stands.
#[derive(Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) places: Vec<Place>,
    /// For each, whether it waits in a circle.
    pub(crate) circle: Vec<bool>,
    /// For each, whether its arrow is the one that goes back.
    pub(crate) back: Vec<bool>,
    pub(crate) rows: f64,
}

/// Lays out what waits for what: `next[i]` is what `i` waits for.
pub(crate) fn layout(next: &[Option<usize>]) -> Layout {
    let (circle, back) = circles(next);
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
    for (one, other) in next.iter().enumerate() {
        if let (Some(other), false) = (other, back[one]) {
            // The circle goes on in the same row, which is the first.
            let at = if circle[one] { 0 } else { waiting[*other].len() };
            waiting[*other].insert(at, one);
        }
    }
    let mut layout = Layout { places: vec![Place::default(); next.len()], circle, back, rows: 0.0 };
    let mut roots: Vec<usize> =
        (0..next.len()).filter(|one| next[*one].is_none() || layout.back[*one]).collect();
    // Circles first, then what is waited for, then those who are alone.
    roots.sort_by_key(|root| (!layout.circle[*root], waiting[*root].is_empty()));
    let (alone, trees): (Vec<usize>, Vec<usize>) =
        roots.into_iter().partition(|root| waiting[*root].is_empty() && !layout.circle[*root]);
    for root in trees {
        layout.tree(root, &waiting);
    }
    layout.grid(&alone);
    layout
}

/// Who is in a circle, and whose arrow closes it.
fn circles(next: &[Option<usize>]) -> (Vec<bool>, Vec<bool>) {
    let (mut circle, mut back) = (vec![false; next.len()], vec![false; next.len()]);
    // By which walk each was first seen; 0 is by none.
    let mut seen = vec![0; next.len()];
    for first in 0..next.len() {
        let mut at = Some(first);
        while let Some(one) = at.filter(|one| seen[*one] == 0) {
            seen[one] = first + 1;
            at = next[one];
        }
        // It has come back to its own steps: a new circle.
        let Some(start) = at.filter(|one| seen[*one] == first + 1) else { continue };
        let mut members = vec![start];
        while let Some(one) = next[members[members.len() - 1]].filter(|one| *one != start) {
            members.push(one);
        }
        let least = members.iter().copied().min().unwrap_or(start);
        for one in members {
            circle[one] = true;
            back[one] = next[one] == Some(least);
        }
    }
    (circle, back)
}

impl Layout {
    /// A root and all who wait for it, below what is there already.
    fn tree(&mut self, root: usize, waiting: &[Vec<usize>]) {
        if self.circle[root] {
            self.rows += 0.5;
        }
        // Everyone after those who wait for it, without recursion: chains may be long.
        let (mut stack, mut order) = (vec![root], Vec::new());
        while let Some(one) = stack.pop() {
            order.push(one);
            stack.extend(&waiting[one]);
        }
        // The first of `waiting` is popped last, so the reverse of `order` begins with it.
        for one in order.into_iter().rev() {
            let place = match &waiting[one][..] {
                [] => {
                    self.rows += 1.0;
                    Place { column: 0, row: self.rows - 1.0 }
                }
                all @ [first, .., last] | all @ [first @ last] => {
                    let (first, last) = (self.row_if(*first, one), self.places[*last].row);
                    let column = all.iter().map(|other| self.places[*other].column).max();
                    let row = first.unwrap_or((self.places[all[0]].row + last) / 2.0);
                    Place { column: column.unwrap_or(0) + 1, row }
                }
            };
            self.places[one] = place;
        }
    }

    /// The row of a member of the same circle.
    fn row_if(&self, one: usize, other: usize) -> Option<f64> {
        (self.circle[one] && self.circle[other]).then(|| self.places[one].row)
    }

    /// Those who are alone, side by side.
    fn grid(&mut self, alone: &[usize]) {
        let wide = self.places.iter().map(|place| place.column + 1).max().unwrap_or(1).max(3);
        let first = self.rows;
        for (index, one) in alone.iter().enumerate() {
            let row = first + (index / wide) as f64;
            self.places[*one] = Place { column: index % wide, row };
            self.rows = row + 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: usize, row: f64) -> Place {
        Place { column, row }
    }

    #[test]
    fn whoever_waits_stands_left_and_roots_in_the_middle() {
        // 0 and 1 wait for 3, 3 waits for 4, 2 waits for 4; 5 is alone.
        let laid = layout(&[Some(3), Some(3), Some(4), Some(4), None, None]);
        assert_eq!(
            laid.places,
            [at(0, 1.0), at(0, 2.0), at(0, 0.0), at(1, 1.5), at(2, 0.75), at(0, 3.0)]
        );
        assert!(!laid.circle.contains(&true) && !laid.back.contains(&true));
        assert_eq!(laid.rows, 4.0);
    }

    #[test]
    fn a_circle_stands_in_one_row_and_is_cut_before_its_first() {
        // 1, 2, 3 in a circle, entered by 0 at 2.
        let laid = layout(&[Some(2), Some(2), Some(3), Some(1)]);
        assert_eq!(laid.circle, [false, true, true, true]);
        assert_eq!(laid.back, [false, false, false, true]);
        assert_eq!(laid.places, [at(0, 1.5), at(0, 0.5), at(1, 0.5), at(2, 0.5)]);
    }

    #[test]
    fn one_who_waits_for_itself_is_a_circle() {
        let laid = layout(&[Some(0)]);
        assert_eq!((laid.circle, laid.back), (vec![true], vec![true]));
    }

    #[test]
    fn no_two_stand_in_the_same_place() {
        // Pseudo-random functional graphs.
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..200 {
            let count = 1 + random(40);
            let next: Vec<Option<usize>> =
                (0..count).map(|_| (random(3) > 0).then(|| random(count))).collect();
            let laid = layout(&next);
            for (one, place) in laid.places.iter().enumerate() {
                assert!(laid.places[..one].iter().all(|other| other != place), "{next:?}");
                let waited_for = next[one].filter(|_| !laid.back[one]);
                let is_left = waited_for.is_none_or(|o| laid.places[o].column > place.column);
                assert!(is_left, "{next:?}");
            }
        }
    }

    #[test]
    fn long_chains_need_no_stack() {
        let next: Vec<Option<usize>> = (0..100_000).map(|one| Some(one + 1)).collect();
        let next: Vec<Option<usize>> = next.into_iter().chain([None]).collect();
        assert_eq!(layout(&next).places[100_000], at(100_000, 0.0));
    }
}
