/** The domain service's tables as its queries see them; migrations/domains has their SQL. They lie in the schema `domains`. */
import type { ColumnType, Generated } from 'kysely';
import type { EventType } from './events/event-types.ts';
import type { RenewalFee } from './prices/quote.ts';
import type { ClaimsAcceptance, TrademarkClaim } from './registry/claims-notices.ts';
import type {
  DsRecord,
  LaunchPhaseName,
  Registrant,
  RegistryDomain,
  RegistryFee,
  RegistryMessage,
  UpdateCommand,
} from './registry/registry.ts';
import type { CommandWindow } from './registry/turns/command-window.ts';

/** jsonb: read as the parsed value, written as JSON text (see `json` in kernel/db). */
type Json<T> = ColumnType<T, string, string>;
type JsonDefault<T> = ColumnType<T, string | undefined, string>;

/** Who a workspace's names are registered to, beside the account's name and e-mail address. */
export interface RegistrantContact {
  organization?: string;
  street?: string;
  city?: string;
  region?: string;
  postal_code?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  /** E.164 as EPP writes it: +49.301234567 */
  phone?: string;
}

interface WorkspacesTable {
  id: string;
  name: string;
  created_at: Generated<Date>;
}

interface UsersTable {
  id: string;
  workspace_id: Generated<string>;
  email: string;
  email_key: string;
  name: string;
  contact: JsonDefault<RegistrantContact>;
  created_at: Generated<Date>;
}

interface TokensTable {
  workspace_id: Generated<string>;
  id: string;
  user_id: string | null;
  hash: Uint8Array;
  scope: 'read' | 'write';
  name: Generated<string>;
  created_at: Generated<Date>;
  revoked_at: Date | null;
}

interface WalletsTable {
  workspace_id: Generated<string>;
  available_cents: Generated<number>;
  held_cents: Generated<number>;
  disputed_cents: Generated<number>;
  updated_at: Generated<Date>;
}

interface LedgerTransactionsTable {
  workspace_id: Generated<string>;
  id: string;
  kind: string;
  reference: string;
  description: Generated<string>;
  created_at: Generated<Date>;
}

export type LedgerAccount = 'available' | 'held' | 'sales' | 'card' | 'demo' | 'operator';

interface LedgerEntriesTable {
  workspace_id: Generated<string>;
  transaction_id: string;
  position: number;
  account: LedgerAccount;
  amount_cents: number;
}

interface PaymentsTable {
  workspace_id: Generated<string>;
  id: string;
  kind: 'charge' | 'refund' | 'top_up' | 'auto_top_up';
  order_id: string | null;
  attempt: Generated<number>;
  amount_cents: number;
  state: 'open' | 'succeeded' | 'declined' | 'expired';
  sealed_instrument: string | null;
  provider_reference: string | null;
  provider_url: string | null;
  failure: Json<{ kind: string; message: string } | null> | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  has_receipt: Generated<boolean>;
  saved_card: ColumnType<SavedCard | null, string | undefined, string>;
}

/** By the payment provider's names. */
export interface SavedCard {
  readonly customer: string;
  readonly card: string;
}

interface AutoTopUpsTable {
  workspace_id: Generated<string>;
  customer_reference: string | null;
  card_reference: string | null;
  page_reference: string | null;
  page_url: string | null;
  page_opened_at: Date | null;
  page_looked_at: Date | null;
  enabled: Generated<boolean>;
  threshold_cents: number | null;
  amount_cents: number | null;
  monthly_limit_cents: number | null;
  failure: Json<{ kind: string; message: string } | null> | null;
  untold_payment_id: string | null;
  limit_told_in: Date | null;
  updated_at: Generated<Date>;
  disputed_card: string | null;
}

export type DisputeState = 'open' | 'won' | 'lost';

interface DisputesTable {
  workspace_id: Generated<string>;
  id: string;
  payment_id: string;
  amount_cents: number;
  state: DisputeState;
  untold: Generated<boolean>;
  created_at: Date;
  updated_at: Date;
}

export type RenewalState =
  | 'not_due'
  | 'off'
  | 'charging'
  | 'pending'
  | 'renewed'
  | 'unpaid'
  | 'failed'
  | 'lapsing'
  | 'capped';

interface DomainsTable {
  workspace_id: Generated<string>;
  id: string;
  name: string;
  state: 'acquiring' | 'active' | 'gone';
  added_via: 'registration' | 'transfer';
  snapshot: Json<RegistryDomain | null> | null;
  synced_at: Date | null;
  seen_at: Generated<Date | null>;
  looked_at: ColumnType<Date | null, never, never>;
  expires_at: Date | null;
  auto_renew: Generated<boolean>;
  whois_privacy: Generated<boolean>;
  release_at: Date | null;
  billed_until: Date | null;
  renewal_state: Generated<RenewalState>;
  renewal_reason: string | null;
  renewal_shortfall_cents: number | null;
  created_at: Generated<Date>;
  gone_at: Date | null;
  missing_since: Date | null;
  missing_seen_at: Date | null;
  missing_sightings: Generated<number>;
  missing_announced: Generated<boolean>;
  deletion_sent_at: Date | null;
  deletion_wanted_at: Date | null;
  deletion_look_at: Date | null;
  transfer_out: Json<TransferOut | null> | null;
  transfer_out_untold: Generated<boolean>;
  transfer_out_look_at: Date | null;
  suspended_at: Date | null;
  unpaid_problem: string | null;
  renewal_fee: Json<RenewalFee | null> | null;
  unpaid_tried_at: Date | null;
  change_wanted: Json<Omit<UpdateCommand, 'name' | 'transactionId' | 'authCode'> | null> | null;
  change_wanted_at: Date | null;
  change_look_at: Date | null;
  auth_code_until: Date | null;
  auth_code_wanted: Generated<boolean>;
  auth_code_look_at: Date | null;
  redemption_since: Date | null;
  add_grace_until: Date | null;
  add_grace_fee_cents: number | null;
  registrant_since: Generated<Date>;
  registrant_asked_at: Date | null;
  unverified_at: Date | null;
  unverified_told: Generated<boolean>;
  held_at: Date | null;
  hold_look_at: Date | null;
  hold_problem: string | null;
  hold_lease_until: Date | null;
  transfer_locked_until: Date | null;
}

/** A transfer that another registrar has asked for: see transfers-out/transfer-out.ts. */
export interface TransferOut {
  readonly state: 'pending' | 'approved' | 'rejected' | 'cancelled';
  /** The registry's id of the registrar that asks; null: it does not tell. */
  readonly requestedBy: string | null;
  readonly requestedAt: string;
  /** While it is pending, when the registry approves it by itself; afterwards, when it ended. */
  readonly actsAt: string | null;
  /** What its owner has decided. */
  readonly decision: 'approve' | 'reject' | null;
  /** The code with which the registry refused the last decision. */
  readonly refusal: string | null;
}

interface UnknownMessagesTable {
  number: Generated<number>;
  registry: string;
  message_id: string;
  queued_at: Date;
  received_at: Date;
  name: string;
  text: string;
  /** Under which the registry has queued it again. */
  further_ids: Generated<string[]>;
}

interface DeferredMessagesTable {
  registry: string;
  message_id: string;
  queued_at: Date;
  kind: RegistryMessage['kind'];
  name: string;
  text: string;
  application_id: string | null;
  /** Ours, of the command that it is about. */
  transaction_id: string | null;
  received_at: Date;
  look_at: Date;
}

interface RegistryBalancesTable {
  registry: string;
  available_cents: number | null;
  currency: string | null;
  observed_at: Date | null;
  refused_at: Date | null;
  look_at: Date;
}

interface RegistryAllowancesTable {
  registry: string;
  commands: Json<CommandWindow['commands']>;
  waiting: Json<CommandWindow['waiting']>;
}

/** See registry/duties.ts. */
export type Duty = 'messages' | 'names';

interface RegistryDutiesTable {
  registry: string;
  duty: Duty;
  lease_until: Date | null;
  due_at: Date;
  idle_count: Generated<number>;
  /** Of the messages: why the oldest cannot be read, or not be removed. */
  problem: Generated<string | null>;
  problem_since: Generated<Date | null>;
}

interface UnassignedNamesTable {
  name: string;
  registry_id: string;
  /** Null: the registry does not show it. */
  expires_at: Date | null;
  found_at: Date;
  order_id: string;
}

export type OrderKind = 'registration' | 'renewal' | 'transfer' | 'restoration' | 'trade';
export type OrderState = 'paying' | 'held' | 'submitted' | 'pending' | 'completed' | 'failed';

/** What the registry had of a name before anything was sent for its order. */
export interface Baseline {
  /**
   * `unknown`: something may have been sent before the registry was asked. Of a trade: `held`, by whom the order wants it to be; `trading`, a trade is
   * under way; else `not_held`.
   */
  readonly kind: 'absent' | 'foreign' | 'ours' | 'unknown' | 'held' | 'trading' | 'not_held';
  /** When the registry was asked. */
  readonly at: string;
  /** The object's id, where there was one and the registry showed it. */
  readonly registryId?: string;
  readonly expiresAt?: string;
  /** Of the last trade before, by the registry's clock. */
  readonly tradeRequestedAt?: string;
}

interface OrdersTable {
  workspace_id: Generated<string>;
  id: string;
  kind: OrderKind;
  origin: 'request' | 'auto_renew';
  domain_id: string;
  name: string;
  years: number;
  amount_cents: number;
  from_expires_at: Date | null;
  pays_with: 'wallet' | 'card';
  sealed_auth_code: string | null;
  baseline: Json<Baseline | null> | null;
  registry_fee: Json<RegistryFee | null> | null;
  holder: Json<Registrant | null> | null;
  lock_days: number | null;
  claims_acceptance: Json<ClaimsAcceptance | null> | null;
  signed_mark: string | null;
  mark_code: string | null;
  mark_document: string | null;
  is_application: Generated<boolean>;
  launch_phase: Json<LaunchPhaseName | null> | null;
  application_id: string | null;
  application_cents: Generated<number>;
  application_refunded: Generated<boolean>;
  application_taken_at: Date | null;
  state: OrderState;
  submissions: Generated<number>;
  lease_until: Date | null;
  lapsed_leases: Generated<number>;
  next_look_at: Date | null;
  error_code: string | null;
  error_message: string | null;
  error_details: Json<Record<string, unknown> | null> | null;
  idempotency_key: string | null;
  fingerprint: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  ended_at: Date | null;
  attention_since: Date | null;
  attention_reason: string | null;
  settled_by_hand: string | null;
  registry_said: string | null;
  waits_for_credit: Generated<boolean>;
  price_unasked: Generated<boolean>;
  sent_at: Date | null;
  notice_until: Date | null;
  notice_lookup_key: string | null;
}

interface ClaimsNoticesTable {
  workspace_id: Generated<string>;
  notice_id: string;
  name: string;
  lookup_key: string;
  not_after: Date;
  claims: Json<readonly TrademarkClaim[]>;
  shown_at: Date;
}

interface ZonesTable {
  workspace_id: Generated<string>;
  domain_id: string;
  name: string;
  version: Generated<number>;
  published_version: Generated<number>;
  serial: Generated<number>;
  dnssec: Generated<'off' | 'enabling' | 'on' | 'disabling'>;
  ds_records: JsonDefault<DsRecord[]>;
  failure: string | null;
  updated_at: Generated<Date>;
  ds_handed_at: Date | null;
  ds_pending_since: Date | null;
  ds_removed_at: Date | null;
  dnssec_refusal: string | null;
  dnssec_failure: string | null;
  dnssec_registry_said: string | null;
  dnssec_attempts: Generated<number>;
  dnssec_next_look_at: Date | null;
  dnssec_lease_until: Date | null;
  dnssec_lapsed_leases: Generated<number>;
  roll_state: 'signing' | 'parent' | 'retiring' | null;
  roll_step_at: Date | null;
  roll_ds_records: JsonDefault<DsRecord[]>;
  key_since: Date | null;
  serial_renewed_at: Date | null;
  close_at: Date | null;
  is_closed: Generated<boolean>;
  delegation_look_at: Date | null;
  delegation_moved_at: Date | null;
  delegation_ttl_seconds: number | null;
  is_withdrawn: Generated<boolean>;
}

interface DnsRecordsTable {
  workspace_id: Generated<string>;
  domain_id: string;
  id: string;
  subdomain: string;
  type: string;
  value: string;
  ttl: number;
  created_at: Generated<Date>;
}

export type NoticeStage = '30_days' | '14_days' | '7_days' | '1_day' | 'expired';

interface ExpiryNoticesTable {
  workspace_id: Generated<string>;
  domain_id: string;
  term_end: Date;
  stage: NoticeStage;
  message_id: string;
  lease_until: Date;
  sent_at: Date | null;
}

interface SignInsTable {
  id: string;
  email_key: string;
  requested_at: Date;
  code_hash: Uint8Array | null;
  expires_at: Date | null;
  used_at: Date | null;
}

interface RegistrantVerificationsTable {
  workspace_id: Generated<string>;
  name: string;
  organization: string | null;
  email: string;
  asked_at: Date;
  suspend_at: Date | null;
  mailed_at: Date | null;
  mail_look_at: Date | null;
  message_id: string | null;
  mail_problem: string | null;
  requests_since: Date | null;
  requests: Generated<number>;
  verified_at: Date | null;
  verified_by: 'link' | 'operator' | null;
  verified_reason: string | null;
}

interface DesignatedAgentsTable {
  workspace_id: Generated<string>;
  id: string;
  email_key: string;
  asked_at: Date;
  expires_at: Date;
  code_hash: Uint8Array | null;
  given_at: Date | null;
  withdrawn_at: Date | null;
  requests_since: Date | null;
  requests: number;
}

interface RegistrantChangesTable {
  workspace_id: Generated<string>;
  id: string;
  name: string;
  organization: string | null;
  email: string;
  email_key: string;
  locks_transfers: boolean;
  asked_at: Date;
  expires_at: Date;
  present_code_hash: Uint8Array | null;
  next_code_hash: Uint8Array | null;
  present_consented_at: Date | null;
  next_consented_at: Date | null;
  requests_since: Date | null;
  requests: number;
  ended_at: Date | null;
}

interface RegistrantLinksTable {
  workspace_id: Generated<string>;
  code_hash: Uint8Array;
  expires_at: Date;
}

interface ReceiptNumbersTable {
  year: number;
  last_number: number;
}

interface ReceiptsTable {
  workspace_id: Generated<string>;
  id: string;
  payment_id: string;
  number: string;
  issued_at: Date;
  description: string;
  refunds_number: string | null;
  total_cents: number;
  net_cents: number;
  vat_cents: number;
  vat_basis_points: number;
  seller: Json<string[]>;
  buyer: Json<string[]>;
}

interface EventsTable {
  workspace_id: Generated<string>;
  id: string;
  type: EventType;
  data: Json<Record<string, unknown>>;
  created_at: Generated<Date>;
}

interface WebhooksTable {
  workspace_id: Generated<string>;
  id: string;
  url: string;
  events: string[];
  active: Generated<boolean>;
  failing_since: Date | null;
  paused_reason: 'failing' | null;
  sealed_secret: string;
  sealed_previous_secret: string | null;
  previous_secret_expires_at: Date | null;
  sealed_earlier_secrets: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface WebhookDeliveriesTable {
  workspace_id: Generated<string>;
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: EventType;
  status: Generated<'pending' | 'succeeded' | 'dead'>;
  attempt_count: Generated<number>;
  round: Generated<number>;
  misses: Generated<number>;
  last_http_status: number | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface WebhookAttemptsTable {
  workspace_id: Generated<string>;
  delivery_id: string;
  number: number;
  at: Date;
  duration_ms: number;
  http_status: number | null;
  error: string | null;
}

/** Tables whose rows belong to one workspace. */
export interface WorkspaceTables {
  users: UsersTable;
  tokens: TokensTable;
  wallets: WalletsTable;
  ledger_transactions: LedgerTransactionsTable;
  ledger_entries: LedgerEntriesTable;
  payments: PaymentsTable;
  domains: DomainsTable;
  orders: OrdersTable;
  zones: ZonesTable;
  dns_records: DnsRecordsTable;
  expiry_notices: ExpiryNoticesTable;
  receipts: ReceiptsTable;
  events: EventsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_attempts: WebhookAttemptsTable;
  auto_top_ups: AutoTopUpsTable;
  disputes: DisputesTable;
  claims_notices: ClaimsNoticesTable;
  registrant_verifications: RegistrantVerificationsTable;
  registrant_links: RegistrantLinksTable;
  registrant_changes: RegistrantChangesTable;
  designated_agents: DesignatedAgentsTable;
}

/** What the service's own work sees: every workspace's rows. There `workspace_id` is a column like any other. */
export interface SystemTables extends WorkspaceTables {
  workspaces: WorkspacesTable;
  unassigned_names: UnassignedNamesTable;
  receipt_numbers: ReceiptNumbersTable;
  sign_ins: SignInsTable;
  unknown_messages: UnknownMessagesTable;
  deferred_messages: DeferredMessagesTable;
  registry_balances: RegistryBalancesTable;
  registry_allowances: RegistryAllowancesTable;
  registry_duties: RegistryDutiesTable;
}

/** The names of WorkspaceTables, for the scope to check against. */
export const workspaceTables: ReadonlySet<keyof WorkspaceTables> = new Set([
  'users',
  'tokens',
  'wallets',
  'ledger_transactions',
  'ledger_entries',
  'payments',
  'domains',
  'orders',
  'zones',
  'dns_records',
  'expiry_notices',
  'receipts',
  'events',
  'webhooks',
  'webhook_deliveries',
  'webhook_attempts',
  'auto_top_ups',
  'disputes',
  'claims_notices',
  'registrant_verifications',
  'registrant_links',
  'registrant_changes',
  'designated_agents',
] as const);
