/** Where people reach a smith, or an agent with one smith a person. */
import type { Generated } from 'kysely';
import type { Json, JsonObject, ProjectId, TableNames } from './columns.ts';

export type DeploymentKind = 'whatsapp' | 'telegram' | 'slack' | 'discord' | 'sms' | 'voice' | 'email' | 'mcp' | 'web';
export type DeploymentStatus = 'pending' | 'active' | 'disconnected';

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
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
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
}

export const channelsTables: TableNames<ChannelsTables> = {
  deployments: true,
  hosted_visitors: true,
  hosted_threads: true,
  hosted_page_days: true,
};
