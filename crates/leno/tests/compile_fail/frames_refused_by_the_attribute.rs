//@ says: cannot suspend inside a closure
//@ says: write `let v = <the call>.await;` before it
//@ says: cannot suspend in a match guard
//@ says: cannot suspend in the middle of a `let` chain
//@ says: nest the conditions
//@ says: cannot suspend inside the arguments of a macro
//@ says: cannot suspend inside an `unsafe` block
//@ says: cannot suspend on the left of `=`
//@ says: a parameter of a resumable fn is stored in its frame
//@ says: take `String` instead of `&str`
//@ says: name this type
//@ says: a resumable method cannot borrow `self`
//@ says: make the object the context
//@ says: for methods, put `#[resumable]` on the `impl` block
//@ says: the first parameter of a resumable fn is the coroutine handle
//@ says: a resumable fn must be `async fn`
//@ says: a resumable fn cannot have lifetime parameters
//@ says: a resumable fn of a trait cannot have a body here
//@ says: `#[resumable]` goes on an `async fn`
//@ says: unknown option; there is `id =
//@ says: a suspension is named by `#[at("name")]`
//@ says: `_timer` is not used after a suspension in its scope
//@ says: `drop(_timer)`
//@ says: another `x` shadows it there
//@ says: rename one of the two
//@ says: the coroutine handle cannot be shadowed
//@ says: cannot suspend inside an `async` block
//@ says: cannot suspend on the left of a compound assignment
//@ says: cannot suspend in the base of a struct
//@ says: a suspension is not supported in this kind of expression
//@ says: a resumable fn cannot be `unsafe`
//@ says: with `unsafe` blocks between its suspensions
//@ says: help: write `async fn`
//@ says: help: take owned data, such as `String`
//@ says: `x` is shadowed in a block that suspends and used again after it
//@ says: `late` seems to be declared by the macro `declare!`
//@ says: declare it in the body itself, `let late = ..`

//! What `#[resumable]` itself refuses, a module each.
#![allow(unused)]

use leno::frame::{Co, resumable};

mod suspension_in_a_closure {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> Vec<u32> {
        let v = vec![1, 2, 3];
        v.into_iter().map(|x| co.suspend(x).await).collect()
    }
}

mod suspension_in_a_guard {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        match 1 {
            x if co.suspend(x).await > 1 => 1,
            _ => 0,
        }
    }
}

mod suspension_in_a_chain {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>, o: Option<u32>) -> u32 {
        if let Some(x) = o && co.suspend(x).await > 1 { 1 } else { 0 }
    }
}

mod suspension_in_a_macro {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) {
        println!("{}", co.suspend(1).await);
    }
}

mod suspension_in_unsafe {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        unsafe { co.suspend(1).await }
    }
}

mod suspension_left_of_an_assignment {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<usize, usize>) -> Vec<u32> {
        let mut v = vec![1, 2];
        v[co.suspend(1).await] = 3;
        v
    }
}

mod parameter_that_borrows {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>, s: &str) -> usize {
        co.suspend(1).await;
        s.len()
    }
}

mod parameter_without_a_name {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>, s: impl Clone) {
        co.suspend(1).await;
    }
}

mod self_is_borrowed {
    use super::*;

    struct A {
        n: u32,
    }
    #[resumable]
    impl A {
        async fn f(&mut self, co: &mut Co<u32, u32>) -> u32 {
            self.n += co.suspend(1).await;
            self.n
        }
    }
}

mod method_without_its_block {
    use super::*;

    struct A;
    impl A {
        #[resumable]
        async fn f(self, co: &mut Co<u32, u32>) -> u32 {
            co.suspend(1).await
        }
    }
}

mod no_handle {
    use super::*;

    #[resumable]
    async fn f(x: u32) -> u32 {
        x
    }
}

mod not_async {
    use super::*;

    #[resumable]
    fn f(co: &mut Co<u32, u32>) -> u32 {
        1
    }
}

mod lifetime_parameter {
    use super::*;

    #[resumable]
    async fn f<'a>(co: &mut Co<u32, u32>, x: std::borrow::Cow<'a, str>) -> u32 {
        co.suspend(1).await
    }
}

mod body_in_a_trait {
    use super::*;

    #[resumable]
    trait A {
        async fn f(self, co: &mut Co<u32, u32>) -> u32 {
            co.suspend(1).await
        }
    }
}

mod wrong_item {
    use super::*;

    #[resumable]
    struct A;
}

mod unknown_option {
    use super::*;

    #[resumable(name = "x")]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        co.suspend(1).await
    }
}

mod label_without_a_name {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        #[at(name)]
        let x = co.suspend(1).await;
        x
    }
}

mod guard_that_no_frame_keeps {
    use super::*;

    struct Timer;
    impl Drop for Timer {
        fn drop(&mut self) {}
    }
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        let _timer = Timer;
        let a = co.suspend(1).await;
        co.suspend(a).await
    }
}

mod shadowed_variable {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        let x = co.suspend(1).await;
        {
            let x = x + 1;
            co.suspend(x).await;
            println!("{x}");
        }
        x
    }
}

mod shadowed_handle {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        let co = co.suspend(1).await;
        co
    }
}

mod suspension_in_an_async_block {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) {
        let later = async { co.suspend(1).await };
    }
}

mod suspension_left_of_a_compound_assignment {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<usize, usize>) -> Vec<u32> {
        let mut v = vec![1, 2];
        v[co.suspend(1).await] += 3;
        v
    }
}

mod suspension_in_the_base_of_a_struct {
    use super::*;

    struct P {
        a: u32,
        b: u32,
    }
    #[resumable]
    async fn base(co: &mut Co<u32, u32>) -> P {
        P { a: 1, b: 2 }
    }
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> P {
        P { a: 1, ..base(co).await }
    }
}

mod suspension_in_a_repetition {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> [u32; 3] {
        [co.suspend(1).await; 3]
    }
}

mod unsafe_fn {
    use super::*;

    #[resumable]
    async unsafe fn f(co: &mut Co<u32, u32>) -> u32 {
        co.suspend(1).await
    }
}

mod shadowed_in_a_block {
    use super::*;

    #[resumable]
    async fn f(co: &mut Co<u32, u32>, b: bool) -> u32 {
        let mut x = 1;
        if b {
            x = co.suspend(1).await;
            let x = 3;
            drop(x);
        }
        x
    }
}

mod variable_declared_by_a_macro {
    use super::*;

    macro_rules! declare {
        ($name:ident) => {
            let $name = 5;
        };
    }
    #[resumable]
    async fn f(co: &mut Co<u32, u32>) -> u32 {
        declare!(late);
        let a = co.suspend(1).await;
        a + late
    }
}

fn main() {}
