#!/usr/bin/perl
# Debian's Net::EPP against an EPP server: each step prints a line "step<TAB>result", for net-epp.test.ts to read.
# Arguments: port, file of the certificate to trust, and name and password of two registrars.
use strict;
use warnings;
use Net::EPP::Simple;
use Net::EPP::Frame;

my ($port, $ca, $user, $password, $other_user, $other_password) = @ARGV;
$| = 1;

sub tell_step {
	my ($step, $result) = @_;
	$result = 'undef ' . ($Net::EPP::Simple::Code // '') . ' ' . ($Net::EPP::Simple::Error // '') if (!defined($result));
	print "$step\t$result\n";
}

sub log_in {
	my ($name, $secret) = @_;
	return Net::EPP::Simple->new(
		host => '127.0.0.1', port => $port, user => $name, pass => $secret,
		verify => 1, ca_file => $ca, timeout => 20, load_config => 0,
	);
}

# A poll in Net::EPP is a frame of its own: there is no short way in Simple.
sub poll_once {
	my ($epp) = @_;
	my $answer = $epp->request(Net::EPP::Frame::Command::Poll::Req->new);
	my ($queue) = $answer->getElementsByTagName('msgQ');
	return '1300' if (!defined($queue) && $answer->code == 1300);
	my $id = $queue->getAttribute('id');
	my ($name) = $answer->getElementsByLocalName('name');
	my ($status) = $answer->getElementsByLocalName('trStatus');
	my $ack = Net::EPP::Frame::Command::Poll::Ack->new;
	$ack->setMsgID($id);
	my $acknowledged = $epp->request($ack);
	return join(' ', $answer->code, $name->textContent, $status->textContent, $acknowledged->code);
}

tell_step('wrong password', log_in($user, 'not-the-password') ? 'let in' : $Net::EPP::Simple::Code);

my $epp = log_in($user, $password);
tell_step('login', $epp ? 1 : undef);
exit 1 if (!$epp);
tell_step('ping', $epp->ping);

my $name = 'net-epp.com';
tell_step('check free', $epp->check_domain($name));
tell_step('check taken', $epp->check_domain('taken-elsewhere.com'));
tell_step('create contact', $epp->create_contact({
	id => 'PERL-1', email => 'larry@example.net', voice => '+1.5551234567', fax => '', authInfo => 'perl-secret',
	postalInfo => { int => {
		name => 'Larry', org => 'Camels & Sons', addr => { street => ['1 Pearl St'], city => 'Sahara', sp => 'X', pc => '1', cc => 'US' },
	} },
}));
tell_step('check contact', $epp->check_contact('PERL-1'));
my $contact = $epp->contact_info('PERL-1');
tell_step('info contact', join(' ', $contact->{id}, $contact->{postalInfo}{int}{org}, $contact->{voice}));
for my $host ('ns1.perl.example', 'ns2.perl.example') {
	tell_step('create host', $epp->create_host({ name => $host, addrs => [] }));
}
tell_step('check host', $epp->check_host('ns1.perl.example'));
tell_step('info host', $epp->host_info('ns1.perl.example')->{name});

tell_step('create', $epp->create_domain({
	name => $name, period => 2, registrant => 'PERL-1', authInfo => 'first-secret',
	contacts => { admin => 'PERL-1', tech => 'PERL-1' }, ns => ['ns1.perl.example'],
}));
my $info = $epp->domain_info($name);
tell_step('info', join(' ', $info->{name}, $info->{registrant}, $info->{exDate}, @{$info->{ns}}, @{$info->{status}}));
tell_step('renew', $epp->renew_domain({ name => $name, cur_exp_date => substr($info->{exDate}, 0, 10), period => 1 }));
tell_step('renew again', $epp->renew_domain({ name => $name, cur_exp_date => substr($info->{exDate}, 0, 10), period => 1 }));
tell_step('expiry', $epp->domain_info($name)->{exDate});
tell_step('update', $epp->update_domain({
	name => $name,
	add => { ns => ['ns2.perl.example'], status => ['clientDeleteProhibited'] },
	rem => { ns => ['ns1.perl.example'] },
	chg => { authInfo => 'second-secret' },
}));
$info = $epp->domain_info($name);
tell_step('updated', join(' ', $info->{authInfo}, @{$info->{ns}}, @{$info->{status}}));
tell_step('delete locked', $epp->delete_domain($name));
tell_step('unlock', $epp->update_domain({ name => $name, rem => { status => ['clientDeleteProhibited'] } }));

my $other = log_in($other_user, $other_password);
tell_step('second login', $other ? 1 : undef);
my $transfer = $other->domain_transfer_request($name, 'second-secret', 1);
tell_step('transfer', $transfer ? join(' ', $transfer->{name}, $transfer->{trStatus}, $transfer->{reID}) : undef);
tell_step('poll loser', poll_once($epp));
tell_step('reject transfer', $epp->domain_transfer_reject($name));
tell_step('poll winner', poll_once($other));
tell_step('poll empty', poll_once($other));
tell_step('transfer again', $other->domain_transfer_request($name, 'second-secret', 1) ? 1 : undef);
tell_step('approve transfer', $epp->domain_transfer_approve($name));
tell_step('sponsor', $other->domain_info($name)->{clID});
tell_step('delete as loser', $epp->delete_domain($name));
tell_step('delete', $other->delete_domain($name));
tell_step('logout', $other->logout);
tell_step('logout', $epp->logout);
