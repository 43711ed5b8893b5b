//! The end of describing: everything is checked, channels are linked, and nodes wait to be started.

use core::marker::PhantomData;

use leno_kernel::{Budget, System};

use super::Graph;
use crate::channel::Link as _;
use crate::check::check;
use crate::error::BuildError;
use crate::guarantees::{Guarantees, progress};
use crate::mode::{Determinism, Parallel, Schedule, Sequential};
use crate::parallel::{self, Host};
use crate::plan::{Plan, Shape};
use crate::rates;
use crate::run::Run;
use crate::sequential;

impl<D: Determinism, S: Schedule> Graph<D, S> {
    /// What is certain of the graph as it is now.
    ///
    /// # Errors
    /// What [`build`](Graph::build) would say of it.
    ///
    /// # Examples
    /// ```
    /// let mut graph = leno_graph::Graph::deterministic().sequential();
    /// let (tx, _rx) = graph.channel::<i32>(1);
    /// graph.node("one", tx, |_, _| {});
    /// let certain = graph.guarantees()?;
    /// assert!(certain.progress.is_certain());
    /// assert!(certain.to_string().contains("result      the same under every schedule"));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    pub fn guarantees(&mut self) -> Result<Guarantees, BuildError> {
        let shape = self.checked()?;
        Ok(self.guarantees_of(&shape))
    }

    fn guarantees_of(&self, shape: &Shape) -> Guarantees {
        Guarantees {
            is_deterministic: D::DETERMINISTIC,
            is_parallel: S::IS_PARALLEL,
            progress: progress(shape, self.grows),
        }
    }

    /// Checks everything, and what the graph is like.
    pub(super) fn checked(&mut self) -> Result<Shape, BuildError> {
        if !self.plan.errors.is_empty() {
            return Err(self.plan.errors[0].clone());
        }
        let mut shape = self.plan.shape();
        check(&shape, D::DETERMINISTIC)?;
        // Those outside who take one of each are part of the schedule, if there is one with them.
        let with_joins = shape.with_joins().and_then(|shape| rates::room(&shape).ok());
        let room = match with_joins {
            Some(room) => room,
            None => rates::room(&shape)?,
        };
        for ((wire, about), room) in self.plan.wires.iter().zip(&mut shape.wires).zip(room) {
            if let Some(room) = room {
                about.capacity = about.capacity.max(room as usize);
                wire.set_capacity(about.capacity);
            }
        }
        Ok(shape)
    }
}

impl<D: Determinism> Graph<D, Sequential> {
    /// Checks the graph, and makes it ready to run.
    ///
    /// # Errors
    /// The first rule that it breaks, with the channel and the nodes that break it.
    pub fn build(mut self) -> Result<Run<D, Sequential>, BuildError> {
        let shape = self.checked()?;
        let guarantees = self.guarantees_of(&shape);
        let core = sequential::Core::new(D::DETERMINISTIC, self.grows);
        let nodes = core::mem::take(&mut self.plan.nodes.0).into_iter();
        core.set(nodes.map(|node| (node.about.name, node.starter)).collect(), &self.plan.wires);
        self.plan.link(&shape, &core, D::DETERMINISTIC);
        let Plan { ids, wires, .. } = self.plan;
        Ok(Run { core, wires, shape, guarantees, ids, host: (), kind: PhantomData })
    }
}

impl<D: Determinism> Graph<D, Parallel> {
    /// Checks the graph, and makes it ready to run.
    ///
    /// # Errors
    /// The first rule that it breaks, with the channel and the nodes that break it; or that there are no
    /// cores for it, or none that preempt, if the graph has a [quantum](Graph::quantum).
    pub fn build(mut self) -> Result<Run<D, Parallel>, BuildError> {
        let shape = self.checked()?;
        let guarantees = self.guarantees_of(&shape);
        let host = match self.cores {
            0 => Host::Here,
            cores => {
                let own = System::builder().cores(cores).name("graph");
                let is_whole = self.quantum == Budget::Unlimited;
                let made = if is_whole { own.build() } else { own.preemptive().build() };
                Host::Own(made.map_err(|why| BuildError::Cores(why.to_string()))?)
            }
        };
        let core = parallel::Core::new(D::DETERMINISTIC, self.grows, self.quantum);
        self.plan.link(&shape, &core, D::DETERMINISTIC);
        let nodes = core::mem::take(&mut self.plan.nodes.0).into_iter();
        let nodes = nodes.map(|node| (node.about.name, node.starter));
        let ends = shape.wires.iter().map(|wire| wire.outside_senders + wire.outside_receivers);
        core.set(&host, nodes.collect(), &self.plan.wires, ends.sum())?;
        let Plan { ids, wires, .. } = self.plan;
        Ok(Run { core, wires, shape, guarantees, ids, host, kind: PhantomData })
    }
}
