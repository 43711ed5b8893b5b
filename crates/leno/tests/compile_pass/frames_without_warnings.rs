// Generated code gives no warnings of its own.
#![deny(warnings)]
use leno::frame::{Co, Persist, resumable};

#[resumable]
async fn helper(co: &mut Co<u32, u32>, base: u32) -> u32 {
    base + co.suspend(base).await
}

/// Documented.
#[resumable(id = "all::of::it")]
pub async fn all<T: Persist + Clone>(co: &mut Co<u32, u32>, items: Vec<T>, word: String) -> (Vec<T>, u32) {
    let mut kept = Vec::new();
    let mut sum = 0;
    let label;
    'outer: for item in items {
        match helper(co, sum).await {
            0 => continue 'outer,
            1 => break,
            n if n > 100 => return (kept, n),
            n => sum += n,
        }
        kept.push(item);
        while sum < 10 {
            sum += if co.suspend(sum).await > 3 { helper(co, 1).await } else { 1 };
        }
    }
    if let Some(first) = kept.first() {
        label = (Some(first.clone()), word);
    } else {
        label = (None, co.suspend(1).await.to_string());
    }
    let Some(_) = label.0 else {
        co.suspend(7).await;
        return (kept, 0);
    };
    #[at("end")]
    let end = co.suspend(2).await;
    (kept, end + label.1.len() as u32)
}

struct Counter(u32);

#[resumable]
impl Counter {
    async fn count(self, co: &mut Co<u32, u32>) -> u32 {
        let mut n = self.0;
        loop {
            n += co.suspend(n).await;
            if n > 10 {
                break n;
            }
        }
    }
}

fn main() {
    let _ = all::<u8>;
    let _ = |co: &mut Co<u32, u32>| Counter(1).count(co);
}
