//@ says: `Rc<u32>` cannot be sent between threads safely
use std::marker::PhantomData;
use std::rc::Rc;

use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> PhantomData<Rc<u32>> {
    let data = PhantomData::<Rc<u32>>;
    co.suspend(1).await;
    data
}

fn main() {}
