//! Opening a port, for both families where the kernel has both.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections the kernel may hold for us between two accepts.
const BACKLOG: i32 = 1024;

/// Opens a listening socket. The IPv6 wildcard takes IPv4 too, and becomes the IPv4 wildcard
/// where the kernel has no IPv6.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    bind_by(open, address)
}

fn bind_by<T>(open: fn(SocketAddr) -> io::Result<T>, address: SocketAddr) -> io::Result<T> {
    match open(address) {
        Err(error)
            if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
                && !matches!(
                    error.kind(),
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
                ) =>
        {
            // Kernels say it in more than one way. If IPv4 fails too, the first error is the one
            // that belongs to what was asked for.
            open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()))).or(Err(error))
        }
        result => result,
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // The default is the kernel's, and some distributions turn it round.
        socket.set_only_v6(false)?;
    }
    // A restart must not wait for the last run's connections to be forgotten.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::{Error, ErrorKind};
    use std::time::Duration;
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    const ANY: &str = "[::]:8443";

    fn no_ipv6(address: SocketAddr) -> io::Result<SocketAddr> {
        if address.is_ipv6() { Err(Error::from(ErrorKind::Unsupported)) } else { Ok(address) }
    }

    #[test]
    fn without_ipv6_the_wildcard_becomes_the_ipv4_one() {
        let bound = bind_by(no_ipv6, ANY.parse().unwrap()).unwrap();
        assert_eq!(bound, "0.0.0.0:8443".parse().unwrap());
        // An address that somebody chose is not exchanged for a wider one.
        assert!(bind_by(no_ipv6, "[::1]:8443".parse().unwrap()).is_err());
    }

    #[test]
    fn a_port_in_use_is_not_tried_elsewhere() {
        fn in_use(address: SocketAddr) -> io::Result<SocketAddr> {
            if address.is_ipv6() { Err(Error::from(ErrorKind::AddrInUse)) } else { Ok(address) }
        }
        assert!(bind_by(in_use, ANY.parse().unwrap()).is_err());
    }

    #[tokio::test]
    async fn the_ipv6_wildcard_takes_ipv4_too() {
        let socket = bind("[::]:0".parse().unwrap()).unwrap();
        let port = socket.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        timeout(Duration::from_secs(5), socket.accept()).await.unwrap().unwrap();
    }
}
