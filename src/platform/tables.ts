/** The platform's tables as its queries see them, one file a subsystem; migrations/platform has their SQL. */
import { type AccessTables, accessTables } from './tables/access.ts';
import { type AgentsTables, agentsTables } from './tables/agents.ts';
import { type ChannelsTables, channelsTables } from './tables/channels.ts';
import type { TableNames } from './tables/columns.ts';
import { type ConnectionsTables, connectionsTables } from './tables/connections.ts';
import { type FeedTables, feedTables } from './tables/feed.ts';
import { type KnowledgeTables, knowledgeTables } from './tables/knowledge.ts';
import { type McpTables, mcpTables } from './tables/mcp.ts';
import { type RunsTables, runsTables } from './tables/runs.ts';
import { type SandboxTables, sandboxTables } from './tables/sandbox.ts';
import { type SchedulesTables, schedulesTables } from './tables/schedules.ts';
import { type SkillsTables, skillsTables } from './tables/skills.ts';
import { type ThreadsTables, threadsTables } from './tables/threads.ts';
import { type TombstonesTables, tombstonesTables } from './tables/tombstones.ts';
import { type TracesTables, tracesTables } from './tables/traces.ts';
import { type UiBundlesTables, uiBundlesTables } from './tables/ui-bundles.ts';
import { type UsageTables, usageTables } from './tables/usage.ts';
import { type WebhooksTables, webhooksTables } from './tables/webhooks.ts';

export type { SystemTables } from './tables/access.ts';
export type { AgentDraft, AgentVariable, SkillRef, SmithConfig, UiCsp, UiResource } from './tables/agents.ts';
export type { DeploymentKind, DeploymentStatus, MessagingKind } from './tables/channels.ts';
export type { Actor, JsonObject } from './tables/columns.ts';
export type { ClientAuthMethod, ClientKind, ConnectionStatus, SignInTarget } from './tables/connections.ts';
export type { FileAttributes, IngestErrorCode, VectorStoreFileStatus } from './tables/knowledge.ts';
export type {
  McpAuthKind,
  McpClientMode,
  McpPolicyRule,
  McpProtocol,
  McpServerStatus,
  McpToolEntry,
  McpToolHints,
} from './tables/mcp.ts';
export type { RunStatus } from './tables/runs.ts';
export type { SkillFileEntry } from './tables/skills.ts';
export type { TombstoneKind } from './tables/tombstones.ts';
export { type BudgetPeriod, type BudgetScope, USAGE_AMOUNTS, type UsageSource } from './tables/usage.ts';

/** Tables of one tenant's rows: reachable through a tenant scope only. */
export interface TenantTables
  extends AccessTables,
    AgentsTables,
    ChannelsTables,
    ConnectionsTables,
    FeedTables,
    KnowledgeTables,
    McpTables,
    RunsTables,
    SandboxTables,
    SchedulesTables,
    SkillsTables,
    ThreadsTables,
    TombstonesTables,
    TracesTables,
    UiBundlesTables,
    UsageTables,
    WebhooksTables {}

const names: TableNames<TenantTables> = {
  ...accessTables,
  ...agentsTables,
  ...channelsTables,
  ...connectionsTables,
  ...feedTables,
  ...knowledgeTables,
  ...mcpTables,
  ...runsTables,
  ...sandboxTables,
  ...schedulesTables,
  ...skillsTables,
  ...threadsTables,
  ...tombstonesTables,
  ...tracesTables,
  ...uiBundlesTables,
  ...usageTables,
  ...webhooksTables,
};

/** The names of TenantTables, for the scope to check against. */
export const tenantTables: ReadonlySet<string> = new Set(Object.keys(names));
