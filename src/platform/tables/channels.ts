/** Where people reach a smith, or an agent with one smith a person. */
import type { Generated } from 'kysely';
import type { Json, JsonObject, ProjectId, TableNames } from './columns.ts';

export type DeploymentKind = 'whatsapp' | 'telegram' | 'slack' | 'discord' | 'sms' | 'voice' | 'email' | 'mcp' | 'web';
export type DeploymentStatus = 'pending' | 'active' | 'disconnected';
/** The kinds whose messages come from a provider and are answered through it. */
export type MessagingKind = 'telegram' | 'whatsapp' | 'discord' | 'slack' | 'sms' | 'email';

interface DeploymentsTable {
  project_id: ProjectId;
  id: string;
  kind: DeploymentKind;
  smith_id: string | null;
  agent_id: string | null;
  address: string | null;
  provider: string | null;
  provider_metadata: Json<JsonObject>;
  sealed_secrets: string | null;
  secret_keys: string[];
  status: DeploymentStatus;
  account_id: Generated<string>;
  start_token_hash: string | null;
  start_token_expires_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface ChannelAccountsTable {
  project_id: ProjectId;
  kind: MessagingKind;
  account_id: string;
  settings: Json<JsonObject>;
  sealed_secrets: string;
  secret_keys: string[];
  webhook_key_hash: string | null;
  last_error: Json<{ code: string; message: string; at: string }> | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface InboundEventsTable {
  project_id: ProjectId;
  id: string;
  source: MessagingKind;
  account_id: string;
  type: string;
  subject: string;
  idempotency_key: string;
  data: Json<JsonObject>;
  smith_id: string | null;
  deployment_id: string | null;
  chat_id: string | null;
  position: number | null;
  thread_id: string | null;
  message: Json<JsonObject> | null;
  sealed_reply: string | null;
  state: 'waiting' | 'started' | 'ignored' | 'failed';
  run_id: string | null;
  error: Json<{ code: string; message: string }> | null;
  created_at: Generated<Date>;
}

interface ChannelChatsTable {
  project_id: ProjectId;
  id: string;
  deployment_id: string;
  account_id: string;
  chat: string;
  sender: string;
  /** Null: whoever writes there speaks to an agent, and has begun no turn yet. */
  smith_id: string | null;
  thread_id: string;
  received: Generated<number>;
  settled: Generated<number>;
  stop_at: number | null;
  next_attempt_at: Date | null;
  waits: Generated<number>;
  failures: Generated<number>;
  claims: Generated<number>;
  created_at: Generated<Date>;
}

interface ChannelAnswersTable {
  project_id: ProjectId;
  id: string;
  chat_id: string;
  position: number;
  run_id: string | null;
  sentence: string | null;
  sealed_reply: string | null;
  state: 'open' | 'planned' | 'sent' | 'failed';
  segments: Generated<number>;
  live: Json<{ message: string; is_unsure?: true }> | null;
  created_at: Generated<Date>;
  settled_at: Date | null;
}

interface ChannelOutboxesTable {
  project_id: ProjectId;
  id: string;
  kind: MessagingKind;
  account_id: string;
  chat: string;
  planned: Generated<number>;
  free_at: Date | null;
  next_attempt_at: Date | null;
}

interface ChannelPartsTable {
  project_id: ProjectId;
  answer_id: string;
  position: number;
  outbox_id: string;
  number: number;
  body: Json<JsonObject>;
  live: Json<{ message: string; is_unsure?: true }> | null;
  as_plain: Generated<boolean>;
  state: 'waiting' | 'sending' | 'sent' | 'failed';
  attempts: Generated<number>;
  losses: Generated<number>;
  sending_since: Date | null;
  provider_message_id: string | null;
  error: Json<{ code: string; message: string }> | null;
  created_at: Generated<Date>;
}

interface ChannelBucketsTable {
  project_id: ProjectId;
  kind: MessagingKind;
  account_id: string;
  free_at: Date;
}

interface ChannelGuessesTable {
  project_id: ProjectId;
  kind: MessagingKind;
  account_id: string;
  sender: string;
  hour: Date;
  wrong: number;
}

interface SlackInstallsTable {
  project_id: ProjectId;
  account_id: string;
  team_id: string;
  bot_user_id: string;
  sealed_bot_token: string;
  created_at: Generated<Date>;
}

interface SlackInstallStatesTable {
  project_id: ProjectId;
  state_hash: string;
  deployment_id: string;
  created_at: Generated<Date>;
}

interface SlackAppsTable {
  project_id: ProjectId;
  deployment_id: string;
  app_id: string | null;
  state: 'making' | 'kept' | 'unwanted';
  next_attempt_at: Date | null;
  state_at: Generated<Date>;
}

interface EmailSuppressionsTable {
  project_id: ProjectId;
  id: string;
  address: string;
  reason: string | null;
  created_at: Generated<Date>;
}

interface EmailSendersTable {
  project_id: ProjectId;
  deployment_id: string;
  sender: string;
  hour: Date;
  mails: number;
}

interface HostedVisitorsTable {
  project_id: ProjectId;
  deployment_id: string;
  visitor_id: string;
  smith_id: string;
  created_at: Generated<Date>;
}

interface HostedThreadsTable {
  project_id: ProjectId;
  deployment_id: string;
  thread_id: string;
  visitor_id: string;
  smith_id: string;
  created_at: Generated<Date>;
}

interface HostedPageDaysTable {
  project_id: ProjectId;
  deployment_id: string;
  day: string;
  new_visitors: number;
}

export interface ChannelsTables {
  deployments: DeploymentsTable;
  hosted_visitors: HostedVisitorsTable;
  hosted_threads: HostedThreadsTable;
  hosted_page_days: HostedPageDaysTable;
  channel_accounts: ChannelAccountsTable;
  inbound_events: InboundEventsTable;
  channel_chats: ChannelChatsTable;
  channel_answers: ChannelAnswersTable;
  channel_outboxes: ChannelOutboxesTable;
  channel_parts: ChannelPartsTable;
  channel_buckets: ChannelBucketsTable;
  channel_guesses: ChannelGuessesTable;
  slack_installs: SlackInstallsTable;
  slack_install_states: SlackInstallStatesTable;
  slack_apps: SlackAppsTable;
  email_suppressions: EmailSuppressionsTable;
  email_senders: EmailSendersTable;
}

export const channelsTables: TableNames<ChannelsTables> = {
  deployments: true,
  hosted_visitors: true,
  hosted_threads: true,
  hosted_page_days: true,
  channel_accounts: true,
  inbound_events: true,
  channel_chats: true,
  channel_answers: true,
  channel_outboxes: true,
  channel_parts: true,
  channel_buckets: true,
  channel_guesses: true,
  slack_installs: true,
  slack_install_states: true,
  slack_apps: true,
  email_suppressions: true,
  email_senders: true,
};
