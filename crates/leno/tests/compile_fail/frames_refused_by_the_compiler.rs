//@ says: `&mut Vec<u32>` cannot be stored in a coroutine frame
//@ says: cannot iterate over `Chars<'_>` across a suspension
//@ says: .collect::<Vec<_>>()
//@ says: mismatched types
//@ says: `T` cannot be stored in a coroutine frame
//@ says: use of moved value: `s`
//@ says: mismatched types
//@ says: cannot borrow `v` as mutable
//@ says: calls of resumable fns can be awaited only in a `#[resumable]` fn
//@ says: expected `(u32,)`, found integer
//@ says: to do I/O, suspend with a request for the host

//! What the compiler refuses in resumable functions, a module each.
#![allow(unused)]

use leno::frame::{Co, resumable};

mod context_across_a_suspension {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32, Vec<u32>>) -> usize {
        let db = co.ctx();
        db.push(1);
        let a = co.suspend(1).await;
        db.push(a);
        0
    }
}

mod iterator_that_cannot_be_saved {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<char, u32>, s: String) -> u32 {
        let mut n = 0;
        for c in s.chars() {
            n += co.suspend(c).await;
        }
        n
    }
}

mod call_with_another_handle {
    use super::*;

    #[resumable]
    async fn g(co: &mut Co<String, u32>) -> u32 {
        co.suspend("x".into()).await
    }
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        g(co).await
    }
}

mod type_parameter_that_is_not_data {
    use super::*;

    #[resumable]
    async fn f<T: Send + Clone + 'static>(co: &mut Co<u32, u32>, t: T) -> T {
        co.suspend(1).await;
        t
    }
}

mod ordinary_errors_stay_ordinary {
    use super::*;

    #[resumable]
    async fn moved(co: &mut Co<u32, u32>) -> usize {
        let s = String::from("x");
        drop(s);
        let a = co.suspend(1).await;
        s.len() + a as usize
    }
    #[resumable]
    async fn typed(co: &mut Co<u32, u32>) -> u32 {
        let a = co.suspend(1).await;
        let b: String = a + 1;
        co.suspend(2).await;
        b.len() as u32
    }
    #[resumable]
    async fn unmutable(co: &mut Co<u32, u32>) -> usize {
        let v = Vec::new();
        let a = co.suspend(1).await;
        v.push(a);
        v.len()
    }
}

mod suspension_hidden_by_a_macro {
    use super::*;

    macro_rules! ask {
        ($co:ident, $e:expr) => {
            $co.suspend($e).await
        };
    }
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        let a = ask!(co, 1);
        a
    }
}

mod await_in_ordinary_async_code {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        co.suspend(1).await
    }
    async fn plain(co: &mut Co<u32, u32>) -> u32 {
        f(co).await
    }
}

mod foreign_future {
    use super::*;

    async fn fetch() {}
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        fetch().await;
        co.suspend(1).await
    }
}

mod wrong_arguments {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>, x: u32) -> u32 {
        co.suspend(x).await
    }
    fn start() {
        leno::frame::Resumable::start(&mut (), f, 1);
    }
}

fn main() {}
