//! k-means as a graph: workers get the centroids, and give sums of the points nearest to each; averages are
//! the next centroids. On two cores the result is that of the plain loop, to the last bit: each worker has
//! its own points, and a join gives their sums in one order, whoever is ready first.

use std::sync::Arc;

use leno::graph::Graph;

const CLUSTERS: usize = 3;
const WORKERS: usize = 2;
const ROUNDS: usize = 10;
type Point = [f64; 2];
type Sums = [(usize, Point); CLUSTERS];

/// Three heaps of points.
fn points() -> Vec<Point> {
    let spread = |i: usize, by: usize| (i * by % 101) as f64 / 101.0;
    (0..3000).map(|i| [(i % 3) as f64 * 4.0 + spread(i, 37), spread(i, 59) - 0.5]).collect()
}

fn sums(points: &[Point], centroids: &[Point; CLUSTERS]) -> Sums {
    let mut sums = Sums::default();
    for point in points {
        let distance = |c: &Point| (c[0] - point[0]).powi(2) + (c[1] - point[1]).powi(2);
        let near =
            |a: &usize, b: &usize| distance(&centroids[*a]).total_cmp(&distance(&centroids[*b]));
        let nearest = (0..CLUSTERS).min_by(near).expect("there are clusters");
        sums[nearest].0 += 1;
        (sums[nearest].1[0], sums[nearest].1[1]) =
            (sums[nearest].1[0] + point[0], sums[nearest].1[1] + point[1]);
    }
    sums
}

fn averages(parts: &[Sums]) -> [Point; CLUSTERS] {
    core::array::from_fn(|cluster| {
        let count: usize = parts.iter().map(|part| part[cluster].0).sum();
        [0, 1].map(|d| parts.iter().map(|part| part[cluster].1[d]).sum::<f64>() / count as f64)
    })
}

fn main() {
    let points = Arc::new(points());
    let start = [points[0], points[1], points[2]];
    let halves = |points: &Arc<Vec<Point>>, worker: usize| {
        points.chunks(points.len() / WORKERS).nth(worker).expect("a part").to_vec()
    };

    let plain = (0..ROUNDS).fold(start, |centroids, _| {
        let parts = [0, 1].map(|worker| sums(&halves(&points, worker), &centroids));
        averages(&parts)
    });

    let mut graph = Graph::deterministic().parallel(2);
    let (mut tasks, mut results) = (Vec::new(), Vec::new());
    for worker in 0..WORKERS {
        let (task, work) = graph.channel(1);
        let (done, part) = graph.channel(1);
        let own = halves(&points, worker);
        graph.node(format!("worker {worker}"), (work, done), move |cx, (work, done)| {
            work.iter(cx).for_each(|centroids| _ = done.send(cx, sums(&own, &centroids)));
        });
        tasks.push(task);
        results.push(part);
    }
    let (parts, (out, result)) = (graph.join(results), graph.channel(1));
    graph.node("averages", (tasks, parts, out), move |cx, (tasks, parts, out)| {
        let last = (0..ROUNDS).fold(start, |centroids, _| {
            tasks.iter().for_each(|task| _ = task.send(cx, centroids));
            averages(&parts.receive(cx).expect("workers answer"))
        });
        out.send(cx, last);
    });
    let run = graph.build().expect("it is right");
    let last = run.outlet(result).receive().expect("a result");
    last.iter().for_each(|[x, y]| println!("{x:.4} {y:.4}"));
    println!("the plain loop gives the same: {}", last == plain);
}
