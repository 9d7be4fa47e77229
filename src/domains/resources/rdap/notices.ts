/** Notices of answers (RFC 9083, section 4.3), in the words that ICANN's response profile prescribes (sections 2.6.3 and 2.10; guide, section 3.3). */
import type { RdapIdentity } from './registrar-identity.ts';

const STATUS_CODES = 'https://icann.org/epp';
const INACCURACY_FORM = 'https://icann.org/wicf';

/** `asked`: the address of the answer that the notices are in. */
export function statusCodesNotice(asked: string) {
  return {
    title: 'Status Codes',
    description: [`For more information on domain status codes, please visit ${STATUS_CODES}`],
    links: [pageLink(asked, 'glossary', STATUS_CODES)],
  };
}

export function inaccuracyNotice(asked: string) {
  return {
    title: 'RDDS Inaccuracy Complaint Form',
    description: [`URL of the ICANN RDDS Inaccuracy Complaint Form: ${INACCURACY_FORM}`],
    links: [pageLink(asked, 'help', INACCURACY_FORM)],
  };
}

/** Who answers, and on which terms. */
export function registrarNotices({ terms_url: terms, url }: RdapIdentity, asked: string) {
  return [
    ...(terms === undefined
      ? []
      : [
          {
            title: 'Terms of Service',
            description: ['Whoever uses this service has agreed to its terms.'],
            links: [pageLink(asked, 'terms-of-service', terms)],
          },
        ]),
    ...(url === undefined
      ? []
      : [{ title: 'Registrar', description: ['Who this answer is from.'], links: [pageLink(asked, 'about', url)] }]),
  ];
}

function pageLink(value: string, rel: string, href: string) {
  return { value, rel, href, type: 'text/html' };
}
