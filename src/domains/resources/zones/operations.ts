import type { Database } from '../../../kernel/db/database.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { changeRecords } from './change-records.ts';
import { createRecord } from './create-record.ts';
import { deleteRecord } from './delete-record.ts';
import { exportZone } from './export-zone.ts';
import { importZone } from './import-zone.ts';
import { listRecords } from './list-records.ts';
import {
  ChangedDnsRecords,
  DeletedRecord,
  DnsChanges,
  DnsRecord,
  DnsRecordCreate,
  DnsRecordNamed,
  DnsRecordQuery,
  DnsRecordUpdate,
  ImportedZone,
  RecordPath,
  Zone,
  ZoneFile,
  ZoneFileUpload,
  ZonePath,
} from './schema.ts';
import { updateRecord } from './update-record.ts';
import { createZoneReader } from './zone-reader.ts';

const HOSTED_ONLY = 'Only for domains whose nameservers are the service’s own; others answer `no_hosted_zone`.';

export interface ZoneDependencies {
  readonly db: Database;
  /** The service's own, lower case. */
  readonly nameservers: readonly string[];
}

export function zoneOperations({ db, nameservers }: ZoneDependencies) {
  return [
    workspace.read({
      id: 'zones.list_records',
      method: 'GET',
      path: `${BASE_PATH}/domains/{name}/zone`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List DNS records',
      description: `The records that the service keeps itself (SOA, NS of the domain) come first and are \`managed\`. ${HOSTED_ONLY}`,
      params: ZonePath,
      reply: Zone,
      errors: ['not_found', 'no_hosted_zone'],
      handler: listRecords(createZoneReader(db, nameservers)),
    }),
    workspace.change({
      id: 'zones.create_record',
      method: 'POST',
      path: `${BASE_PATH}/domains/{name}/zone`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Create a DNS record',
      description: `The nameservers answer with it within seconds. ${HOSTED_ONLY}`,
      status: 201,
      params: ZonePath,
      body: DnsRecordCreate,
      example: { subdomain: 'www', type: 'A', value: '192.0.2.7' },
      reply: DnsRecord,
      errors: ['not_found', 'no_hosted_zone'],
      handler: createRecord(nameservers),
    }),
    workspace.change({
      id: 'zones.delete_record',
      method: 'DELETE',
      path: `${BASE_PATH}/domains/{name}/zone`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Delete a DNS record',
      description: `By subdomain, type and value, in the body or in the query. Values are compared in their canonical form. ${HOSTED_ONLY}`,
      params: ZonePath,
      query: DnsRecordQuery,
      body: DnsRecordNamed,
      example: { subdomain: 'www', type: 'A', value: '192.0.2.7' },
      reply: DeletedRecord,
      errors: ['not_found', 'no_hosted_zone'],
      handler: deleteRecord(nameservers),
    }),
    workspace.change({
      id: 'zone_records.change',
      method: 'POST',
      path: `${BASE_PATH}/domains/{name}/zone/changes`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Change several DNS records at once',
      description: `All of them or none, and one step of the zone’s serial: where one cannot be, nothing changes, and \`details.change\` says which (from 0). ${HOSTED_ONLY}`,
      params: ZonePath,
      body: DnsChanges,
      example: {
        changes: [
          { action: 'create', subdomain: '@', type: 'MX', value: '10 mail.example.net' },
          { action: 'create', subdomain: '@', type: 'TXT', value: 'v=spf1 mx -all' },
        ],
      },
      reply: ChangedDnsRecords,
      errors: ['not_found', 'no_hosted_zone'],
      handler: changeRecords(nameservers),
    }),
    workspace.change({
      id: 'zone_records.update',
      method: 'PATCH',
      path: `${BASE_PATH}/domains/{name}/zone/records/{record_id}`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Update a DNS record',
      description: `Its name, value or TTL; the record keeps its id and its type, and the nameservers answer with the one before or with this one. ${HOSTED_ONLY}`,
      params: RecordPath,
      body: DnsRecordUpdate,
      example: { ttl: 300 },
      reply: DnsRecord,
      errors: ['not_found', 'no_hosted_zone'],
      handler: updateRecord(nameservers),
    }),
    workspace.read({
      id: 'zone_files.export',
      method: 'GET',
      path: `${BASE_PATH}/domains/{name}/zone/file`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Export a zone file',
      description: `In the format of BIND, which other nameservers and providers read too. ${HOSTED_ONLY}`,
      params: ZonePath,
      reply: ZoneFile,
      errors: ['not_found', 'no_hosted_zone'],
      handler: exportZone(nameservers),
    }),
    workspace.change({
      id: 'zone_files.import',
      method: 'PUT',
      path: `${BASE_PATH}/domains/{name}/zone/file`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Import a zone file',
      description: `Makes the zone’s records those of the file, all or none: a file with a fault changes nothing, and \`details.line\` says where it is. Records that are the same before and after keep their ids. ${HOSTED_ONLY}`,
      params: ZonePath,
      body: ZoneFileUpload,
      example: { zone_file: '$TTL 300\nshop A 192.0.2.8\nblog CNAME shop\n', keep_others: true },
      reply: ImportedZone,
      errors: ['not_found', 'no_hosted_zone'],
      handler: importZone(nameservers),
    }),
  ];
}
