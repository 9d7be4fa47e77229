/** The clearinghouse's service of notices as RFC 9361 has it: HTTP on loopback, with a name and a password. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { noticeIdOf } from '../../src/domains/registry/claims-notices.ts';
import { openNoticeService } from '../../src/domains/registry/notice-service/open-notice-service.ts';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';

export const NOTICE_USER = 'registrar-9999';
export const NOTICE_PASSWORD = 'notice-password';

export interface TestNoticeService {
  readonly url: string;
  /** Of the requests so far. */
  readonly paths: readonly string[];
  /** What is answered under a lookup key; of a document that is undefined, nothing ever. Without one, 404. */
  answer(key: string, document: (() => string | undefined) | undefined): void;
  /** Nobody listens any more. */
  close(): Promise<void>;
}

export async function startNoticeService(): Promise<TestNoticeService> {
  const documents = new Map<string, () => string | undefined>();
  const paths: string[] = [];
  const expected = `Basic ${Buffer.from(`${NOTICE_USER}:${NOTICE_PASSWORD}`).toString('base64')}`;
  const server = createServer((request, response) => {
    const { headers, url = '' } = request;
    paths.push(url);
    const key = /^\/cnis\/(.+)\.xml$/.exec(url)?.[1] ?? '';
    const document = documents.get(key);
    if (headers.authorization !== expected) return void response.writeHead(401).end();
    if (document === undefined) return void response.writeHead(404).end();
    const text = document();
    if (text !== undefined) response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/cnis`,
    paths,
    answer(key, document) {
      if (document === undefined) documents.delete(key);
      else documents.set(key, document);
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The client that the service of domains uses. */
export function connectNoticeService(url: string, options: { password?: string; deadlineMs?: number } = {}) {
  const { password = NOTICE_PASSWORD, ...rest } = options;
  const outbound = createOutbound({ allow: ['127.0.0.1'] });
  const service = openNoticeService({ url, user: NOTICE_USER, password: async () => password, outbound, ...rest });
  return { ...service, close: () => outbound.close() };
}

export interface NoticeParts {
  readonly label: string;
  readonly from: Date;
  readonly until: Date;
  /** 19 digits. */
  readonly number?: string;
  /** In place of the one that the parts make. */
  readonly id?: string;
  readonly claims?: string;
}

export function noticeDocument({ claims = CLAIM, from, id, label, number = NUMBER, until }: NoticeParts): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?><tmNotice:notice xmlns:tmNotice="urn:ietf:params:xml:ns:tmNotice-1.0">' +
    `<tmNotice:id>${id ?? noticeIdOf(label, until, number)}</tmNotice:id>` +
    `<tmNotice:notBefore>${from.toISOString()}</tmNotice:notBefore><tmNotice:notAfter>${until.toISOString()}</tmNotice:notAfter>` +
    `<tmNotice:label>${label}</tmNotice:label>${claims}</tmNotice:notice>`
  );
}

const NUMBER = '0000000000000012345';

/** All that a claim may have. */
const CLAIM =
  '<tmNotice:claim><tmNotice:markName>Gold &amp; Sons</tmNotice:markName>' +
  '<tmNotice:holder entitlement="owner"><tmNotice:org>Gold and Sons Ltd</tmNotice:org><tmNotice:addr><tmNotice:street>1 Mint Row</tmNotice:street>' +
  '<tmNotice:street>Floor 2</tmNotice:street><tmNotice:city>Perth</tmNotice:city><tmNotice:sp>WA</tmNotice:sp><tmNotice:pc>6000</tmNotice:pc>' +
  '<tmNotice:cc>AU</tmNotice:cc></tmNotice:addr></tmNotice:holder>' +
  '<tmNotice:contact type="agent"><tmNotice:name>A. Gent</tmNotice:name><tmNotice:org>Agents LLP</tmNotice:org><tmNotice:addr>' +
  '<tmNotice:street>2 Bar Street</tmNotice:street><tmNotice:city>Leeds</tmNotice:city><tmNotice:cc>GB</tmNotice:cc></tmNotice:addr>' +
  '<tmNotice:voice>+44.1130000000</tmNotice:voice><tmNotice:fax>+44.1130000001</tmNotice:fax><tmNotice:email>agents@example.org</tmNotice:email></tmNotice:contact>' +
  '<tmNotice:jurDesc jurCC="AU">Australia</tmNotice:jurDesc><tmNotice:classDesc classNum="14">Precious metals</tmNotice:classDesc>' +
  '<tmNotice:goodsAndServices>Rings, and coins of gold.</tmNotice:goodsAndServices><tmNotice:notExactMatch><tmNotice:court>' +
  '<tmNotice:refNum>C-1</tmNotice:refNum><tmNotice:cc>AU</tmNotice:cc><tmNotice:courtName>High Court</tmNotice:courtName></tmNotice:court><tmNotice:udrp>' +
  '<tmNotice:caseNo>D2020-1</tmNotice:caseNo><tmNotice:udrpProvider>WIPO</tmNotice:udrpProvider></tmNotice:udrp></tmNotice:notExactMatch></tmNotice:claim>';
