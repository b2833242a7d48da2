// Generated from docs/schemas/cost.schema.json by dev/generate-types.mjs.

/**
 * US dollars
 */
export type Dollars = number;
/**
 * A point in time in UTC, in RFC 3339, such as 2026-11-22T15:08:38.120Z
 */
export type Rfc3339 = string;

export interface Cost {
  /**
   * Basis of the prices, as text.
   */
  basis: string;
  /**
   * Grouping: `day`, `model`, `project`, `run` or `agent`.
   */
  by: string;
  /**
   * Spending of each group. Days are listed newest first.
   */
  rows: Row[];
  /**
   * Start of the period. `None` for all time.
   */
  since: Rfc3339 | null;
  /**
   * Sum of all rows.
   */
  total: Row;
}
/**
 * Spending of one group.
 */
export interface Row {
  /**
   * Input tokens written to the prompt cache.
   */
  cache_creation_input_tokens: number;
  /**
   * Input tokens read from the prompt cache.
   */
  cache_read_input_tokens: number;
  /**
   * The part of the cost that Longhaul estimates, for processes that ended without reporting theirs.
   */
  estimated_cost_usd: Dollars;
  /**
   * Input tokens that no cache served.
   */
  input_tokens: number;
  /**
   * Name of the group. `None` if it is unknown, and for the total.
   */
  key: string | null;
  /**
   * Number of completed messages.
   */
  messages: number;
  /**
   * Name of the run. Only set when grouped by run.
   */
  name: string | null;
  /**
   * Output tokens, thinking included.
   */
  output_tokens: number;
  /**
   * Cost reported by the agent.
   */
  reported_cost_usd: Dollars;
  /**
   * Start of the run's task. Only set when grouped by run.
   */
  task: string | null;
  /**
   * Reported cost plus estimated cost.
   */
  total_cost_usd: Dollars;
  /**
   * Estimated tokens of truncated messages. The counts above do not include them.
   */
  truncated_tokens: number;
  /**
   * Whether some tokens have no known price.
   */
  unpriced: boolean;
}
