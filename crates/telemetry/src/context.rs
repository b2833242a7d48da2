//! Stores the ids of a run's trace, which all supervisors of the run share.
//!
//! The ids are random or come from the caller's `TRACEPARENT`, and are stored in the run's directory. Span
//! ids are derived from them, so every supervisor gives the same attempt the same span id.

use longhaul_store::{Durability, RunDir, replace_json};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// Content of `trace.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// Trace id in hexadecimal, as in a `traceparent`.
    trace_id: String,
    /// Span that the run is part of, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Parent {
    /// Span id in hexadecimal.
    span_id: String,
    /// Whether the parent is sampled. If so, the run is, too.
    sampled: bool,
}

impl Trace {
    /// Returns the trace of the run: the stored one, else a child of `traceparent`, else a new one.
    pub(crate) fn new(dir: &RunDir, traceparent: Option<&str>) -> Trace {
        let path = dir.trace_path();
        let stored = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Trace>(&bytes).ok());
        stored.filter(|trace| trace.id().is_some()).unwrap_or_else(|| {
            let trace = traceparent.and_then(Trace::from_traceparent).unwrap_or_else(Trace::random);
            // A trace that cannot be stored is used until this supervisor exits.
            let _ = replace_json(&path, &trace, Durability::Process);
            trace
        })
    }

    fn random() -> Trace {
        Trace { trace_id: RandomIdGenerator::default().new_trace_id().to_string(), parent: None }
    }

    /// Parses a `traceparent`: `00-TRACE-SPAN-FLAGS`. Returns `None` if it is invalid.
    fn from_traceparent(traceparent: &str) -> Option<Trace> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // The first version has four parts; later versions may have more.
        let is_whole = version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
        let flags = u8::from_str_radix(flags, 16).ok().filter(|_| flags.len() == 2)?;
        let parent = Parent { span_id: span_id.to_owned(), sampled: flags & 1 == 1 };
        let trace = Trace { trace_id: trace_id.to_owned(), parent: Some(parent) };
        (is_whole && trace.id().is_some() && trace.parent().is_some()).then_some(trace)
    }

    fn id(&self) -> Option<TraceId> {
        let id = TraceId::from_hex(&self.trace_id).ok().filter(|_| self.trace_id.len() == 32);
        id.filter(|id| *id != TraceId::INVALID)
    }

    fn parent(&self) -> Option<SpanId> {
        let span_id = &self.parent.as_ref()?.span_id;
        let id = SpanId::from_hex(span_id).ok().filter(|_| span_id.len() == 16);
        id.filter(|id| *id != SpanId::INVALID)
    }

    pub(crate) fn span(&self, key: &str) -> (TraceId, SpanId) {
        let digest =
            Sha256::new().chain_update(&self.trace_id).chain_update("\0").chain_update(key).finalize();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        (self.id().unwrap_or(TraceId::INVALID), SpanId::from_bytes(bytes))
    }

    pub(crate) fn parent_context(&self) -> Context {
        let sampled = self.parent.as_ref().is_some_and(|parent| parent.sampled);
        match (self.id(), self.parent()) {
            (Some(trace), Some(span)) => context_of(trace, span, sampled, true),
            _ => Context::new(),
        }
    }
}

pub(crate) fn context_of(trace: TraceId, span: SpanId, sampled: bool, is_remote: bool) -> Context {
    let flags = TraceFlags::default().with_sampled(sampled);
    let span = SpanContext::new(trace, span, flags, is_remote, TraceState::default());
    Context::new().with_remote_span_context(span)
}

/// Generates the ids that were set for the next span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids(Arc<Mutex<Option<(TraceId, SpanId)>>>);

impl Ids {
    pub(crate) fn set(&self, ids: (TraceId, SpanId)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(ids);
    }

    fn next_ids(&self) -> Option<(TraceId, SpanId)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        self.next_ids().map_or_else(|| RandomIdGenerator::default().new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        self.next_ids().map_or_else(|| RandomIdGenerator::default().new_span_id(), |(_, span)| span)
    }
}

#[cfg(test)]
mod tests {
    use super::Trace;
    use opentelemetry::trace::TraceContextExt;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn run_continues_callers_trace() {
        let trace = Trace::from_traceparent(PARENT).expect("it is valid");
        let parent_context = trace.parent_context();
        let context = parent_context.span().span_context().clone();
        assert_eq!(context.span_id().to_string(), "b7ad6b7169203331");
        assert!(context.is_sampled() && context.is_remote());
        let (id, attempt) = trace.span("attempt 1");
        assert_eq!(id.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(attempt, trace.span("attempt 1").1, "every supervisor derives the same span id");
        assert_ne!(attempt, trace.span("attempt 2").1);
    }

    #[test]
    fn rejects_invalid_traceparent() {
        for text in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        ] {
            assert_eq!(Trace::from_traceparent(text), None, "{text}");
        }
        assert!(Trace::from_traceparent(&PARENT.replace("00-", "01-").replace("-01", "-01-more")).is_some());
    }
}
