//@ says: cannot be sent between threads safely
//@ says: required by this bound in `isolated`
// What a function's run makes cannot be met from outside.
fn main() {
    leno::fibre::isolated(|_| leno::fibre::channel::<u32>().1);
}
