//@ says: the trait bound `&Net<i32>: Plug<In<
// One chip writes numbers, the other reads texts.
use leno::fibre::chip::{Circuit, iterate, procedure};

fn main() {
    let mut circuit = Circuit::new();
    let net = circuit.net::<i32>("net");
    circuit.add(iterate(0..3), &net);
    circuit.add(procedure(|text: String| println!("{text}")), &net);
}
