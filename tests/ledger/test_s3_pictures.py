"""Pictures in an S3 bucket: a real server of the protocol in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request

import boto3
import pytest

from fullbench.core.picture import Picture
from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import case, png, verdict
from tests.support.ports import free_port
from tests.support.wait_until import until


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


@pytest.fixture(scope="module")
def endpoint():
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        until(lambda: answers(url))
        yield url
        process.kill()


@pytest.fixture
def s3(endpoint, monkeypatch, tmp_path, request):
    """A bucket of this test, its keys in the usual variables."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    client = boto3.client("s3", endpoint_url=endpoint)
    name = f"b{abs(hash(request.node.name))}"
    client.create_bucket(Bucket=name)
    client.bucket = name
    client.place = f"s3://{name}/deep/prefix?endpoint={endpoint}"
    return client


def keys(s3, bucket: str = ""):
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket or s3.bucket).get("Contents", [])]


def test_pictures_go_to_the_bucket_once_and_come_back(s3, place, tmp_path):
    shown = case(1, Picture.from_bytes(png(1)), Picture.from_bytes(png(2)))
    with Ledger(place, pictures=s3.place) as ledger:
        ledger.add(shown, verdict(1))
    assert sorted(keys(s3)) == sorted(
        f"deep/prefix/{picture.digest[:2]}/{picture.digest}" for picture in shown.item.pictures
    )
    before = s3.list_objects_v2(Bucket=s3.bucket)["Contents"][0]["LastModified"]
    with Ledger(place) as ledger:
        ledger.add(case(2, Picture.from_bytes(png(1))))
        found = ledger.case(shown.key)
        assert found == shown
        assert not (tmp_path / "cache").exists(), "nothing is fetched before it is wanted"
        assert [picture.data() for picture in found.item.pictures] == [png(1), png(2)]
        assert ledger.verify() == []
    assert s3.list_objects_v2(Bucket=s3.bucket)["Contents"][0]["LastModified"] == before
    assert len(list((tmp_path / "cache" / "pictures").glob("??/*"))) == 2


def test_a_damaged_copy_on_this_machine_is_fetched_again_and_a_damaged_one_there_is_told(s3, tmp_path):
    picture = Picture.from_bytes(png(1))
    with Ledger(tmp_path / "x.ledger", pictures=s3.place) as ledger:
        ledger.add(case(1, picture))
        (kept,) = next(ledger.items()).pictures
        kept.source.write_bytes(b"damaged")
        assert kept.data() == png(1)
        s3.put_object(Bucket=s3.bucket, Key=keys(s3)[0], Body=png(9))
        kept.source.unlink()
        assert any("other bytes than its name says" in problem for problem in ledger.verify())
        with pytest.raises(LedgerError, match="other bytes"):
            kept.data()


def test_verify_looks_into_the_bucket_and_not_at_this_machines_copies(s3, tmp_path):
    """Pictures overwritten or deleted there are named, though all of them are still in the cache."""
    drawn = [Picture.from_bytes(png(number)) for number in range(5)]
    with Ledger(tmp_path / "x.ledger", pictures=s3.place) as ledger:
        ledger.add(*(case(number, picture) for number, picture in enumerate(drawn)))
        assert ledger.verify() == []
        for item in ledger.items():
            item.pictures[0].data()
        assert len(list((tmp_path / "cache" / "pictures").glob("??/*"))) == len(drawn)
        s3.put_object(Bucket=s3.bucket, Key=keys(s3)[0], Body=png(9))
        (problem,) = ledger.verify()
        assert "has other bytes than its name says" in problem
        for key in keys(s3):
            s3.delete_object(Bucket=s3.bucket, Key=key)
        problems = ledger.verify()
        assert len(problems) == len(drawn)
        assert all(any(picture.digest in problem for problem in problems) for picture in drawn)
    done = subprocess.run(
        [sys.executable, "-m", "fullbench", "ledger", "verify", "x.ledger"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "cannot be shown" in done.stdout + done.stderr


def test_a_bucket_that_is_not_there_is_one_sentence(s3, endpoint, tmp_path):
    with Ledger(tmp_path / "x.ledger", pictures=f"s3://nowhere/x?endpoint={endpoint}") as ledger:
        ledger.pictures._there.clear()
        with pytest.raises(LedgerError, match="check that it exists"):
            ledger.add(case(1, Picture.from_bytes(png(1))))
    with pytest.raises(LedgerError, match=r"s3://bucket/prefix"):
        Ledger(tmp_path / "y.ledger", pictures="s3:///x")


def test_what_no_row_names_is_removed_from_the_bucket_when_asked(s3, tmp_path, monkeypatch):
    from fullbench.ledger import unused_space_and_picture_removal

    monkeypatch.setattr(unused_space_and_picture_removal, "YOUNG", -60.0)
    with Ledger(tmp_path / "x.ledger", pictures=s3.place) as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))))
        ledger.flush()
        s3.put_object(Bucket=s3.bucket, Key="deep/prefix/ab/abstray", Body=b"12345")
        assert unused_space_and_picture_removal.free_space(ledger).is_shared
        freed = unused_space_and_picture_removal.free_space(ledger, named_too=True)
        assert (freed.pictures, freed.picture_bytes) == (1, 5)
        assert len(keys(s3)) == 1
        assert ledger.verify() == []


READ_ONLY = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket", "s3:HeadObject"], "Resource": "*"},
]}  # fmt: skip


def test_keys_that_may_only_read_write_nothing_and_are_in_no_message(s3, endpoint, tmp_path, monkeypatch):
    """The bucket enforces permissions: a reader's ledger opens and shows pictures, and a new picture is refused."""
    with Ledger(tmp_path / "x.ledger", pictures=s3.place) as ledger:
        ledger.add(case(1, Picture.from_bytes(png(1))), verdict(1))
    iam = boto3.client("iam", endpoint_url=endpoint)
    iam.create_user(UserName="reader")
    iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=json.dumps(READ_ONLY))
    access = iam.create_access_key(UserName="reader")["AccessKey"]
    before = keys(s3)
    enforce(endpoint, "0")
    try:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", access["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", access["SecretAccessKey"])
        with Ledger(tmp_path / "x.ledger", read_only=True) as ledger:
            assert next(ledger.items()).pictures[0].data() == png(1)
        with (
            pytest.raises(LedgerError, match=r"the bucket could not be used .*AccessDenied") as refused,
            Ledger(tmp_path / "x.ledger") as ledger,
        ):
            ledger.add(case(2, Picture.from_bytes(png(2))), verdict(2))
    finally:
        enforce(endpoint, "inf")
    assert access["SecretAccessKey"] not in str(refused.value)
    assert "\n" not in str(refused.value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    assert keys(boto3.client("s3", endpoint_url=endpoint), s3.bucket) == before
    with Ledger(tmp_path / "x.ledger", read_only=True) as ledger:
        assert len(list(ledger.items())) == 1, "no item without its picture"
        assert ledger.verify() == []


def enforce(endpoint: str, allowed: str) -> None:
    """Check permissions after so many further requests."""
    headers = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", allowed.encode(), headers, method="POST")
    urllib.request.urlopen(request, timeout=60).close()
