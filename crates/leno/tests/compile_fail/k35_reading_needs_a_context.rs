//@ says: this method takes 1 argument but 0 arguments were supplied
//@ says: &Cx<'_>
// A function that reads is a coroutine: only code that has a context can call it.
fn main() {
    let (_out, inp) = leno::fibre::channel::<u32>();
    inp.read();
}
