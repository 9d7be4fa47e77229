"""EppTools' Python client against an EPP server: each step prints a line, [step, result] in JSON, for epptools.test.ts to read.

Arguments: what to do (register, or restore what was deleted), port, file of the certificate to trust, name and password of two registrars.
"""
import json
import sys

from epptools import Client, Config
from epptools.exceptions import EppException

action, port, ca_file, user, password, other_user, other_password = sys.argv[1:]


def tell(step, result):
    print(json.dumps([step, result], sort_keys=True), flush=True)


def log_in(name, secret, new_secret=None):
    config = Config(host='127.0.0.1', port=int(port), clid=name, password=secret, ca_file=ca_file, read_timeout=20.0)
    client = Client(config)
    client.connect()
    client.login(new_secret)
    return client


def refusal_of(work):
    try:
        return f'carried out: {work().code()}'
    except EppException as error:
        return str(error)


def register():
    client = log_in(user, password)
    asked = client.domain.check(['sdk.com', 'taken-elsewhere.com'], fee={'create': [1, 2], 'renew': 1})
    price = asked.fee_for('sdk.com', 'create', 2)
    tell('check', [asked.is_available('sdk.com'), asked.is_available('taken-elsewhere.com')])
    tell('prices', [asked.fee_for('sdk.com', 'create', 1), price, asked.fee_for('sdk.com', 'renew', 1)])
    disclose = {'flag': False, 'name': ['int'], 'addr': ['int'], 'voice': True, 'email': True}
    address = {'street': ['1 Mill Lane'], 'city': 'London', 'pc': 'EC1', 'cc': 'GB'}
    client.contact.create('SDK-1', name='Ada', email='ada@example.net', auth_info='secret-1', disclose=disclose, **address)
    contact = client.contact.info('SDK-1')
    tell('contact', [contact.object_name(), contact.email(), contact.postal_info()['int']['city'], contact.disclose()['flag']])
    client.host.create('ns1.sdk.example', [])

    ds_data = [{'key_tag': 12345, 'alg': 13, 'digest_type': 2, 'digest': 'AB' * 32}]
    wanted = dict(
        years=2, registrant='SDK-1', contacts={'admin': 'SDK-1', 'tech': 'SDK-1'}, nameservers=['ns1.sdk.example'],
        auth_info='secret-2', sec_dns={'ds_data': ds_data},
    )
    tell('too cheap', refusal_of(lambda: client.domain.create('sdk.com', fee={'amount': '0.01', 'currency': 'EUR'}, **wanted)))
    created = client.domain.create('sdk.com', fee={'amount': price, 'currency': 'EUR'}, **wanted)
    tell('create', [created.code(), created.charged_fee()])
    info = client.domain.info('sdk.com')
    tell('info', [info.registrant(), info.contacts(), info.nameservers(), info.statuses(), info.expiry_date()])
    tell('signed', info.ds_records())
    client.domain.renew('sdk.com', info.expiry_date(), 1)
    client.domain.update('sdk.com', add={'statuses': ['clientDeleteProhibited']}, sec_dns={'remove_all': True})
    changed = client.domain.info('sdk.com')
    tell('changed', [changed.expiry_date(), changed.is_signed(), changed.statuses()])
    tell('locked', refusal_of(lambda: client.domain.delete('sdk.com')))

    client.domain.create('back.com', years=1, registrant='SDK-1', auth_info='secret-3')
    other = log_in(other_user, other_password)
    tell('transfer', other.domain.transfer('request', 'back.com', 'secret-3', 1).transfer_status())
    told = client.poll.request()
    tell('told', [told.code(), told.object_name(), told.transfer()['status']])
    client.poll.ack(told.message_id())
    client.domain.transfer('reject', 'back.com')
    answered = other.poll.request()
    tell('answered', [answered.object_name(), answered.transfer()['status']])
    other.poll.ack(answered.message_id())
    tell('empty', other.poll.request().code())
    tell('logout', [client.logout().code(), other.logout().code()])
    # Longer than the protocol has room for (RFC 8807).
    long_password = 'a password of forty characters or so'
    log_in(other_user, other_password, long_password).logout()
    tell('long password', log_in(other_user, long_password).logout().code())
    tell('wrong password', refusal_of(lambda: log_in(other_user, other_password)))


def restore():
    client = log_in(user, password)
    tell('delete', client.domain.delete('back.com').is_success())
    tell('deleted', client.domain.info('back.com').rgp_status())
    tell('restore', client.domain.restore('back.com').code())
    tell('restored', client.domain.info('back.com').rgp_status())


{'register': register, 'restore': restore}[action]()
